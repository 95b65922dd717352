/** Shows what the reader used today, and what may be used in a day. */
import { call } from "./api.js";
import { el, fill } from "./dom.js";
import { showProblem } from "./problems.js";
import { number, showTime, t } from "./texts.js";

/** Fill a node with the reader's own use. */
export async function showUsage(node) {
  try {
    const usage = await call("GET", "/api/usage");
    fill(node, el("h3", {}, t.usedToday), facts(usage).map((fact) => el("p", {}, fact)), el("p", { class: "hint" }, t.countedAnew(showTime(usage.resets_at))));
  } catch (error) {
    fill(node, showProblem(error));
  }
}

function facts({ questions, estimated_usd: usd, limits }) {
  const asked = t.questions(number(questions), limits.questions === null ? null : number(limits.questions));
  const isPriced = usd !== null && (usd > 0 || limits.usd !== null);
  return isPriced ? [asked, t.spent(money(usd), limits.usd === null ? null : money(limits.usd))] : [asked];
}

const money = (usd) => number(usd, { maximumSignificantDigits: 2 });
