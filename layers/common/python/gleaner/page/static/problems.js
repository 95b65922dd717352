/** Says what went wrong, in words of the page where it has some. */
import { Problem } from "./api.js";
import { el } from "./dom.js";
import { showTime, t } from "./texts.js";

/** A message about an error; `ways` are buttons that lead on. */
export function showProblem(error, ...ways) {
  if (!(error instanceof Problem)) console.error(error);
  return el("div", { class: "problem", role: "alert" }, el("p", { dir: "auto" }, describe(error)), ways);
}

// Asking the same again would fail again: a reader can only change what is said.
const FINAL = new Set(["quota-exceeded", "unauthorized", "not-allowed", "unknown-session", "unknown-knowledge-base", "validation-failed", "answer-refused", "context-too-long", "payload-too-large"]);
const SETTINGS = new Set(["unauthorized", "not-allowed", "unknown-knowledge-base", "quota-exceeded"]);

/** Whether it is worth asking the same again. */
export const isWorthRetry = (error) => !FINAL.has(error.kind);

/** Whether it may help to ask something else. */
export const isWorthEditing = (error) => error.kind !== "quota-exceeded";

/** Whether the way on is in the settings. They show the reader's own use alone. */
export const leadsToSettings = (error) => SETTINGS.has(error.kind) && !isOfAll(error);

const isOfAll = (error) => error.quota === "environment";

function describe(error) {
  if (!(error instanceof Problem)) return t.unknownProblem;
  const said = t.problems[isOfAll(error) ? `${error.kind}-by-all` : error.kind] ?? `${t.unknownProblem} ${error.message}`;
  return error.retryAfter ? `${said} ${wait(error.retryAfter)}` : said;
}

const LONG = 600; // seconds, which nobody counts down: from here on the time says more

const wait = (seconds) => (seconds < LONG ? `(${t.seconds(seconds)})` : t.askAgainFrom(showTime(Date.now() + seconds * 1000)));
