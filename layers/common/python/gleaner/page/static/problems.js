/** Says what went wrong, in words of the page where it has some. */
import { Problem } from "./api.js";
import { button, el } from "./dom.js";
import { t } from "./texts.js";

const SHOWN = new Set(["lost", "aborted"]);

/** A message about an error, with a way on if there is one. */
export function showProblem(error, retry = null) {
  if (!(error instanceof Problem)) console.error(error);
  return el(
    "div",
    { class: "problem", role: "alert" },
    el("p", {}, describe(error)),
    retry && button(t.retry, retry, { class: "quiet" }),
  );
}

function describe(error) {
  if (!(error instanceof Problem)) return t.unknownProblem;
  if (SHOWN.has(error.kind)) return error.kind === "lost" ? t.lost : t.stopped;
  const said = t.problems[error.kind];
  const wait = error.retryAfter ? ` (${t.seconds(error.retryAfter)})` : "";
  return (said ?? `${t.unknownProblem} ${error.message}`) + wait;
}
