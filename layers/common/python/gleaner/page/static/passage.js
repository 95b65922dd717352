/** The panel beside the conversation: a passage with what stands around it. */
import { call } from "./api.js";
import { button, el, fill, link } from "./dom.js";
import { render } from "./markdown.js";
import { showProblem } from "./problems.js";
import { t } from "./texts.js";

const MIN_SELECTION = 3; // characters

/** Shows passages in `panel`; `askAbout(text, chapter)` is called with what a reader marked. */
export class PassagePanel {
  constructor(panel, { open, close, askAbout }) {
    this.panel = panel;
    this.openPanel = open;
    this.closePanel = close;
    this.askAbout = askAbout;
    this.opener = null;
  }

  /** Show the passage of a source; the focus goes there, and back to `opener` when it is closed. */
  async show(source, { statement = "", opener = document.activeElement } = {}) {
    this.opener = opener;
    this.openPanel();
    const heading = el("h2", { tabindex: "-1" }, source.title);
    const body = el("div", { class: "passage" });
    fill(this.panel, this.header(heading), body);
    heading.focus();
    try {
      const passage = source.passage_url ? await call("GET", source.passage_url) : asPassage(source);
      fill(body, this.describe(passage, source), this.text(passage, statement), this.around(passage));
    } catch (error) {
      fill(body, el("p", {}, source.text_preview ?? ""), showProblem(error));
    }
  }

  /** Close the panel; the focus goes back to where it came from. */
  close() {
    this.closePanel();
    this.opener?.focus();
  }

  header(heading) {
    return el("header", { class: "bar" }, heading, button("×", () => this.close(), { "aria-label": t.close, class: "icon" }));
  }

  describe(passage, source) {
    const place = [
      passage.chapter,
      passage.source_file_path,
      passage.page_number && t.page(passage.page_label ?? passage.page_number),
      passage.source_type === "external" && passage.date && t.fromWeb(passage.date),
    ].filter(Boolean);
    return el(
      "div",
      { class: "place" },
      place.map((line) => el("p", { dir: "auto" }, line)),
      passage.answers && el("p", { dir: "auto" }, t.answersQuestion(passage.answers)),
      source.support && el("p", { class: `verdict ${source.support}` }, t.verdicts[source.support]),
      passage.has_changed && el("p", { class: "notice" }, t.changed),
      passage.source_url && el("p", {}, link(passage.source_url, t.openDocument)),
      (passage.pages ?? []).length > 1 && el("ul", {}, passage.pages.map((page) => el("li", {}, link(page.url, page.title)))),
    );
  }

  text(passage, statement) {
    const content = passage.text.replace(/^# .*\n/, "");
    const text = el("div", { class: "text", dir: "auto", "aria-label": t.passage }, render(content));
    markSentence(text, statement);
    const asking = button(t.askSelection, () => this.askAbout(selected(text) || content, passage.chapter ?? passage.title), {
      class: "quiet",
    });
    return el("div", {}, text, asking);
  }

  around(passage) {
    const open = (label, neighbour) =>
      neighbour &&
      button(
        label,
        () => this.show({ ...passage, passage_url: neighbour.passage_url, support: null }, { opener: this.opener }),
        { class: "quiet" },
      );
    return el("nav", { class: "around", "aria-label": t.passage }, open(t.before, passage.before), open(t.after, passage.after));
  }
}

function asPassage(source) {
  return { ...source, text: source.text_preview, has_changed: false };
}

function selected(text) {
  const selection = document.getSelection();
  const words = selection && text.contains(selection.anchorNode) ? selection.toString().trim() : "";
  return words.length >= MIN_SELECTION ? words : "";
}

/** Mark the sentence of the passage that shares most words with the statement that cites it. */
function markSentence(text, statement) {
  const wanted = new Set(words(statement));
  if (!wanted.size) return;
  const nodes = [...walk(text)].filter((node) => node.data.trim());
  let best = null;
  for (const node of nodes) {
    for (const sentence of sentences(node.data)) {
      const said = words(sentence.segment);
      const shared = new Set(said.filter((word) => wanted.has(word))).size;
      const score = shared / Math.sqrt(Math.max(said.length, 1));
      if (shared > 1 && score > (best?.score ?? 0)) best = { score, node, start: sentence.index, length: sentence.segment.trimEnd().length };
    }
  }
  if (!best) return;
  const range = document.createRange();
  range.setStart(best.node, best.start);
  range.setEnd(best.node, best.start + best.length);
  const mark = el("mark");
  range.surroundContents(mark);
  mark.scrollIntoView({ block: "nearest" });
}

function* walk(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) yield walker.currentNode;
}

const MAX_WORDS_FROM = 20_000; // characters of one text node in which a sentence is looked for

function sentences(value) {
  return new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(value.slice(0, MAX_WORDS_FROM));
}

function words(value) {
  const segments = new Intl.Segmenter(undefined, { granularity: "word" }).segment(value.slice(0, MAX_WORDS_FROM));
  return [...segments].filter((one) => one.isWordLike).map((one) => one.segment.toLowerCase());
}
