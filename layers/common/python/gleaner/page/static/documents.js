/** Shows what is loaded into the knowledge base, and the questions that it answers. */
import { call } from "./api.js";
import { button, el, fill } from "./dom.js";
import { showProblem } from "./problems.js";
import { showTime, t } from "./texts.js";

const LOAD = "gleaner ingest DIRECTORY";
const SUGGESTIONS = 3;

const parameters = (kbId, more = {}) => {
  const query = new URLSearchParams({ ...(kbId ? { kb_id: kbId } : {}), ...more }).toString();
  return query ? `?${query}` : "";
};

/** Fill a panel with the documents of a knowledge base. */
export async function showDocuments(node, kbId, openPassage) {
  const list = el("ul", { class: "documents" });
  fill(node, list);
  const load = async (cursor) => {
    try {
      const page = await call("GET", `/api/documents${parameters(kbId, cursor ? { cursor } : {})}`);
      list.append(...page.documents.map((one) => item(one, kbId, openPassage)));
      if (!list.children.length) fill(node, el("p", {}, t.emptyBase), howToLoad());
      else if (page.next_cursor) {
        const more = button(t.more, () => {
          more.remove();
          load(page.next_cursor);
        }, { class: "quiet" });
        node.append(more);
      }
    } catch (error) {
      node.append(showProblem(error, () => showDocuments(node, kbId, openPassage)));
    }
  };
  await load(null);
}

function item(one, kbId, openPassage) {
  const passages = el("ol", { class: "chunks" });
  const details = el(
    "details",
    {},
    el("summary", { dir: "auto" }, one.title),
    el("p", { class: "where" }, [one.source_file_path, `${t.chunks}: ${one.chunk_count}`, one.loaded_at && `${t.loadedAt}: ${showTime(one.loaded_at)}`].filter(Boolean).join(" · ")),
    passages,
  );
  details.addEventListener("toggle", async () => {
    if (!details.open || passages.children.length) return;
    try {
      const found = await call("GET", `/api/documents/${one.document_id}${parameters(kbId, { limit: "100" })}`);
      passages.append(...found.passages.map((passage) => el("li", {}, openButton(one, passage, openPassage))));
    } catch (error) {
      fill(passages, showProblem(error));
    }
  });
  return el("li", {}, details);
}

function openButton(one, passage, openPassage) {
  const source = { ...passage, title: one.title };
  const opener = button(passage.chapter ?? passage.text_preview, () => openPassage(source, "", opener), { class: "source", dir: "auto" });
  return opener;
}

/** What a first visitor sees: three questions that the documents answer, or how to load some. */
export async function welcome(kbId, ask) {
  try {
    const { documents } = await call("GET", `/api/documents${parameters(kbId, { limit: "30" })}`);
    if (!documents.length) return [el("p", {}, t.emptyBase), howToLoad()];
    const questions = await suggest(documents, kbId);
    const buttons = questions.map((question) => el("li", {}, button(question, () => ask(question), { class: "suggestion", dir: "auto" })));
    return [el("p", {}, t.welcomeHint), el("ul", { class: "suggestions" }, buttons), howToLoad()];
  } catch (error) {
    return [showProblem(error)];
  }
}

/** Headings that are questions come first: they are what the documents answer. */
async function suggest(documents, kbId) {
  const looked = documents.filter((_, index) => index % Math.ceil(documents.length / SUGGESTIONS) === 0).slice(0, SUGGESTIONS);
  const questions = [];
  for (const one of looked) {
    const { passages } = await call("GET", `/api/documents/${one.document_id}${parameters(kbId, { limit: "20" })}`);
    const headings = passages.map((passage) => passage.chapter?.split(" › ").pop()).filter(Boolean);
    const asked = headings.find((heading) => /[?？؟]$/.test(heading));
    questions.push(asked ?? (headings.length ? t.aboutChapter(headings.at(-1)) : t.aboutDocument(one.title)));
  }
  return [...new Set(questions)];
}

function howToLoad() {
  return el("div", { class: "load" }, el("p", {}, t.loadHint), el("pre", { tabindex: "0" }, el("code", {}, LOAD)));
}
