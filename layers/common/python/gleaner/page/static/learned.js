/** Shows what was learned from the web; admins prune it and restore it. */
import { call } from "./api.js";
import { button, el, fill, link } from "./dom.js";
import { render } from "./markdown.js";
import { showProblem } from "./problems.js";
import { showTime, t } from "./texts.js";

/** Fill a panel with the learned keywords. */
export async function showLearned(node) {
  const rows = el("tbody");
  const heads = [t.keyword, t.uses, t.lastUsed].map((head) => el("th", { scope: "col" }, head));
  const table = el("table", { class: "keywords" }, el("thead", {}, el("tr", {}, heads)), rows);
  const results = el("div", { class: "results" });
  fill(node, results, pruning(() => showLearned(node)));
  const load = async (cursor) => {
    try {
      const page = await call("GET", `/api/keywords?limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
      rows.append(...page.keywords.map(row));
      fill(results, rows.children.length ? table : el("p", { class: "hint" }, t.noKeywords));
      if (page.next_cursor) results.append(button(t.more, () => load(page.next_cursor), { class: "quiet" }));
    } catch (error) {
      fill(results, showProblem(error, () => showLearned(node)));
    }
  };
  await load(null);
}

function row(keyword) {
  const answers = el("div");
  const opener = button(keyword.keyword_text, async () => {
    const isOpen = opener.getAttribute("aria-expanded") === "true";
    opener.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) return fill(answers);
    try {
      const found = await call("GET", `/api/keywords/${keyword.keyword_id}`);
      return fill(answers, found.answers.map(answer));
    } catch (error) {
      return fill(answers, showProblem(error));
    }
  }, { class: "source", dir: "auto", "aria-expanded": "false", title: t.showAnswers(keyword.keyword_text) });
  return el(
    "tr",
    {},
    el("td", {}, opener, answers),
    el("td", {}, String(keyword.usage_count)),
    el("td", {}, showTime(keyword.last_used_at)),
  );
}

function answer(stored) {
  return el(
    "article",
    { class: "stored" },
    el("h4", { dir: "auto" }, stored.answers),
    el("p", { class: "where" }, t.fromWeb(showTime(stored.created_at))),
    el("div", { dir: "auto" }, render(stored.answer)),
    el("ul", {}, stored.citations.map((page) => el("li", {}, link(page.url, page.title)))),
  );
}

function pruning(reload) {
  const days = el("input", { type: "number", min: "1", value: "90", id: "prune-days" });
  const uses = el("input", { type: "number", min: "0", value: "3", id: "prune-uses" });
  const result = el("div", { role: "status" });
  const run = async (isDry) => {
    const rules = { max_age_days: Number(days.value), min_usage: Number(uses.value), dry_run: isDry };
    try {
      const report = await call("POST", "/api/keywords/prune", rules);
      const names = el("ul", {}, report.candidates.map((one) => el("li", { dir: "auto" }, one.keyword_text)));
      if (isDry) return fill(result, el("p", {}, t.wouldPrune(report.candidate_count)), names);
      const restore = button(t.restore, async () => {
        try {
          const restored = await call("POST", "/api/keywords/restore", { run_id: report.run_id });
          fill(result, el("p", {}, t.restored(restored.restored_count)));
          reload();
        } catch (error) {
          fill(result, showProblem(error));
        }
      });
      return fill(result, el("p", {}, t.pruned(report.pruned_count)), names, report.pruned_count > 0 && restore);
    } catch (error) {
      return fill(result, showProblem(error));
    }
  };
  return el(
    "details",
    { class: "prune" },
    el("summary", {}, t.prune),
    el("p", {}, el("label", { for: "prune-days" }, t.days), days),
    el("p", {}, el("label", { for: "prune-uses" }, t.minUses), uses),
    button(t.dryRun, () => run(true), { class: "quiet" }),
    button(t.pruneNow, () => run(false), { class: "quiet danger" }),
    result,
  );
}
