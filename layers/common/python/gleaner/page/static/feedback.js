/** Rates an answer with one click, and a comment if one likes. */
import { call } from "./api.js";
import { button, el, fill } from "./dom.js";
import { showProblem } from "./problems.js";
import { t } from "./texts.js";

const GOOD = 5;
const POOR = 1;

/** Buttons that rate the answer to a query. */
export function feedback(queryId) {
  const node = el("div", { class: "feedback", role: "group", "aria-label": t.rateIt });
  const done = el("span", { role: "status" });
  const rate = async (rating, comment = "") => {
    try {
      await call("POST", `/api/queries/${queryId}/feedback`, { rating, comment });
      done.textContent = t.thanks;
      return true;
    } catch (error) {
      fill(done, showProblem(error));
      return false;
    }
  };
  const choose = async (rating) => {
    if (!(await rate(rating))) return;
    const field = el("input", { type: "text", maxlength: "2000", placeholder: t.comment, "aria-label": t.comment });
    fill(node, done, commenting(field, () => rate(rating, field.value)));
    field.focus();
  };
  fill(
    node,
    button(t.good, () => choose(GOOD)),
    button(t.poor, () => choose(POOR)),
    done,
  );
  return node;
}

function commenting(field, send) {
  const form = el("form", { class: "comment" }, field, el("button", { type: "submit", class: "quiet" }, t.send));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await send()) form.remove();
  });
  return form;
}
