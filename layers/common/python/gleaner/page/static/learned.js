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
  const list = el("ul", { class: "keywords" });
  const load = async (cursor) => {
    try {
      const page = await call("GET", `/api/keywords?limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
      list.append(...page.keywords.map(item));
      const more = page.next_cursor && button(t.more, () => load(page.next_cursor));
      fill(node, list.children.length ? list : el("p", { class: "hint" }, t.noKeywords), more);
    } catch (error) {
      fill(node, showProblem(error, button(t.retry, () => showKeywords(node))));
    }
  };
  await load(null);
}

function item(keyword) {
  const answers = el("div");
  const facts = [t.used(number(keyword.usage_count)), `${t.lastUsed} ${showTime(keyword.last_used_at)}`, `${t.learnedAt} ${showTime(keyword.created_at)}`];
  const summary = el("summary", {}, el("bdi", {}, keyword.keyword_text), el("span", { class: "where" }, facts.join(" · ")));
  const details = el("details", {}, summary, answers);
  details.addEventListener("toggle", async () => {
    try {
      const found = await call("GET", `/api/keywords/${keyword.keyword_id}`);
      fill(answers, found.answers.map(answer));
    } catch (error) {
      fill(answers, showProblem(error));
    }
  }, { once: true });
  return el("li", {}, details);
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
