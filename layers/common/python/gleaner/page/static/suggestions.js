/** What a first visitor sees: questions that the loaded documents answer, and how to load one's own. */
import { call, inBase } from "./api.js";
import { button, el } from "./dom.js";
import { showProblem } from "./problems.js";
import { t } from "./texts.js";

const SUGGESTIONS = 3;
const LOOKED = 4; // documents: not every one has headings
const QUESTION = /[?？؟]$/;
const MAX_HEADING = 120; // characters

/** The nodes of a welcome; `ask(question)` is called with the question of a reader, `own` loads documents. */
export async function welcome(kbId, ask, own) {
  try {
    const page = await call("GET", `/api/documents${inBase(kbId, { limit: "30" })}`);
    own.admit(page.may_edit);
    const documents = page.documents.filter((one) => one.chunk_count);
    if (!documents.length) return [el("p", {}, t.emptyBase), own.node];
    const questions = await suggest(documents, kbId);
    const buttons = questions.map((question) => el("li", {}, button(question, () => ask(question), { class: "suggestion", dir: "auto" })));
    return [el("p", {}, t.welcomeHint), el("ul", { class: "suggestions" }, buttons), own.node];
  } catch (error) {
    return [showProblem(error), own.node];
  }
}

/** Headings that are questions come first: they are what the documents answer. Each document has its turn. */
async function suggest(documents, kbId) {
  const step = Math.max(1, Math.floor(documents.length / LOOKED));
  const looked = documents.filter((_, index) => index % step === 0).slice(0, LOOKED);
  const found = await Promise.all(looked.map((one) => questionsOf(one, kbId)));
  return [...new Set([...takeTurns(found.map((one) => one.asked)), ...takeTurns(found.map((one) => one.made))])].slice(0, SUGGESTIONS);
}

async function questionsOf(one, kbId) {
  const { passages } = await call("GET", `/api/documents/${one.document_id}${inBase(kbId, { limit: "30" })}`);
  const headings = passages.map((passage) => passage.chapter?.split(" › ").pop()).filter((heading) => heading && heading.length <= MAX_HEADING);
  const names = headings.map((heading) => heading.replace(/^[\d.]+\s+/, "")).filter((heading) => heading !== one.title);
  const made = names.filter((name) => !QUESTION.test(name)).map((name) => t.aboutChapter(name));
  return { asked: headings.filter((heading) => QUESTION.test(heading)), made: [...made, t.aboutDocument(one.title.slice(0, MAX_HEADING))] };
}

/** The first of each list, then the second of each, and so on. */
function takeTurns(lists) {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, index) => lists.map((list) => list[index])).flat().filter(Boolean);
}
