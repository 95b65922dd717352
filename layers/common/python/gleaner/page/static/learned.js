/** Shows what was learned from the web: keywords, their answers, when, and used how often. */
import { call } from "./api.js";
import { button, el, fill, link } from "./dom.js";
import { render } from "./markdown.js";
import { showProblem } from "./problems.js";
import { pruning } from "./pruning.js";
import { number, showTime, t } from "./texts.js";

/** Fill a node with the learned keywords. */
export async function showLearned(node) {
  const list = el("div", { class: "results" });
  fill(node, list, pruning(() => showKeywords(list)));
  await showKeywords(list);
}

async function showKeywords(node) {
  const rows = el("tbody");
  const heads = [t.keyword, t.uses, t.lastUsed].map((head) => el("th", { scope: "col" }, head));
  const table = el("table", { class: "keywords" }, el("thead", {}, el("tr", {}, heads)), rows);
  const load = async (cursor) => {
    try {
      const page = await call("GET", `/api/keywords?limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
      rows.append(...page.keywords.map(row));
      const more = page.next_cursor && button(t.more, () => load(page.next_cursor), { class: "quiet" });
      fill(node, rows.children.length ? table : el("p", { class: "hint" }, t.noKeywords), more);
    } catch (error) {
      fill(node, showProblem(error, button(t.retry, () => showKeywords(node), { class: "quiet" })));
    }
  };
  await load(null);
}

function row(keyword) {
  const answers = el("div");
  const opener = button(keyword.keyword_text, () => toggle(opener, answers, keyword), {
    class: "source",
    dir: "auto",
    "aria-expanded": "false",
    title: t.showAnswers(keyword.keyword_text),
  });
  return el(
    "tr",
    {},
    el("td", {}, opener, answers),
    el("td", {}, number(keyword.usage_count)),
    el("td", {}, showTime(keyword.last_used_at)),
  );
}

async function toggle(opener, answers, keyword) {
  const isOpen = opener.getAttribute("aria-expanded") === "true";
  opener.setAttribute("aria-expanded", String(!isOpen));
  if (isOpen) return fill(answers);
  try {
    const found = await call("GET", `/api/keywords/${keyword.keyword_id}`);
    return fill(answers, el("p", { class: "where" }, `${t.learnedAt} ${showTime(keyword.created_at)}`), found.answers.map(answer));
  } catch (error) {
    return fill(answers, showProblem(error));
  }
}

function answer(stored) {
  return el(
    "article",
    { class: "stored" },
    el("h3", { dir: "auto" }, stored.answers),
    el("p", { class: "where" }, t.fromWeb(showTime(stored.created_at))),
    el("div", { dir: "auto" }, render(stored.answer)),
    el("ul", {}, stored.citations.map((page) => el("li", { dir: "auto" }, link(page.url, page.title)))),
  );
}
