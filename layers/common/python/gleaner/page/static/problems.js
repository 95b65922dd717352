/** Says what went wrong, in words of the page where it has some. */
import { begin } from "./cognito.js";
import { signIn } from "./config.js";
import { button, el } from "./dom.js";
import { Problem } from "./problem.js";
import { t } from "./texts.js";

const SHOWN = new Set(["lost", "aborted"]);

/** A message about an error, with a way on if there is one. */
export function showProblem(error, retry = null) {
  if (!(error instanceof Problem)) console.error(error);
  const mustSignIn = error.kind === "unauthorized" && signIn.kind === "cognito";
  const way = mustSignIn ? button(t.signIn, begin, { class: "quiet" }) : retry && button(t.retry, retry, { class: "quiet" });
  return el("div", { class: "problem", role: "alert" }, el("p", {}, describe(error)), way);
}

function describe(error) {
  if (!(error instanceof Problem)) return t.unknownProblem;
  if (SHOWN.has(error.kind)) return error.kind === "lost" ? t.lost : t.stopped;
  const said = t.problems[error.kind];
  const wait = error.retryAfter ? ` (${t.seconds(error.retryAfter)})` : "";
  return (said ?? `${t.unknownProblem} ${error.message}`) + wait;
}
