/** Prunes learned keywords and restores them; the service lets administrators alone do so. */
import { call } from "./api.js";
import { button, el, fill } from "./dom.js";
import { showProblem } from "./problems.js";
import { tab } from "./storage.js";
import { number, showTime, t } from "./texts.js";

const LAST_RUN = "gleaner.prune-run"; // in the session storage, so that a reload does not lose the way back

/** The form; `changed()` is called when keywords went or came back. */
export function pruning(changed) {
  const days = numberField("prune-days", "90", "1");
  const uses = numberField("prune-uses", "3", "0");
  const result = el("div", { role: "status" });
  const run = async (isDry) => {
    try {
      const rules = { max_age_days: Number(days.value), min_usage: Number(uses.value), dry_run: isDry };
      const report = await call("POST", "/api/keywords/prune", rules);
      fill(result, describe(report));
      if (isDry) return;
      if (report.pruned_count) tab.write(LAST_RUN, report.run_id);
      result.append(restoring(result, changed) ?? "");
      changed();
    } catch (error) {
      fill(result, showProblem(error));
    }
  };
  fill(result, restoring(result, changed));
  return el(
    "details",
    { class: "prune" },
    el("summary", {}, t.prune),
    el("p", { class: "hint" }, t.pruneHint),
    el("p", {}, el("label", { for: days.id }, t.days), days),
    el("p", {}, el("label", { for: uses.id }, t.minUses), uses),
    el("p", { class: "choices" }, button(t.dryRun, () => run(true)), button(t.pruneNow, () => run(false), { class: "quiet danger" })),
    result,
  );
}

function numberField(id, value, min) {
  return el("input", { type: "number", id, value, min });
}

function describe(report) {
  const say = report.dry_run ? t.wouldPrune(number(report.candidate_count)) : t.pruned(number(report.pruned_count));
  const facts = (one) => `${t.used(number(one.usage_count))} · ${t.lastUsed} ${showTime(one.last_used_at)}`;
  const names = report.candidates.map((one) => el("li", { dir: "auto" }, one.keyword_text, el("span", { class: "where" }, facts(one))));
  return [el("p", {}, say), el("ul", {}, names)];
}

/** A button that brings back what the last run pruned; nothing where there was none. */
function restoring(result, changed) {
  const runId = tab.read(LAST_RUN);
  if (!runId) return null;
  return button(t.restore, async () => {
    try {
      const restored = await call("POST", "/api/keywords/restore", { run_id: runId });
      tab.remove(LAST_RUN);
      fill(result, el("p", {}, t.restored(number(restored.restored_count))));
      changed();
    } catch (error) {
      fill(result, showProblem(error));
    }
  });
}
