/** A passage, with what stands around it. */
import { call } from "./api.js";
import { button, el, fill, link } from "./dom.js";
import { markSentence } from "./marking.js";
import { render } from "./markdown.js";
import { showProblem } from "./problems.js";
import { t } from "./texts.js";

const MIN_SELECTION = 3; // characters

/** Shows passages in a panel; `askAbout(text, chapter)` is called with what a reader marked. */
export class Passages {
  constructor(panel, askAbout) {
    this.panel = panel;
    this.askAbout = askAbout;
  }

  /** Show the passage of a source, and mark a sentence of it, if there is one. */
  show(source, sentence, opener) {
    return this.panel.show(source.title, (body) => this.fill(body, source, sentence), opener);
  }

  async fill(body, source, sentence) {
    try {
      const passage = source.passage_url ? await call("GET", source.passage_url) : asPassage(source);
      const text = el("div", { class: "text", dir: "auto", role: "region", "aria-label": t.passage }, render(withoutTitle(passage)));
      fill(body, describe(passage, source), text, this.asking(passage, text), this.around(passage));
      if (sentence && source.support !== "none") markSentence(text, sentence);
    } catch (error) {
      fill(body, source.text_preview && el("p", { dir: "auto" }, source.text_preview), showProblem(error));
    }
  }

  /** A button that asks about the words that are marked, or else about the whole passage. */
  asking(passage, text) {
    const ask = button(t.askPassage, () => this.askAbout(selectedIn(text) || text.innerText, passage.chapter ?? passage.title));
    const update = () => {
      if (!text.isConnected) return document.removeEventListener("selectionchange", update);
      ask.textContent = selectedIn(text) ? t.askSelection : t.askPassage;
      return undefined;
    };
    document.addEventListener("selectionchange", update);
    return el("p", {}, ask, el("span", { class: "hint" }, t.selectHint));
  }

  around(passage) {
    const open = (label, neighbour) =>
      neighbour && button(label, () => this.show({ title: passage.title, passage_url: neighbour.passage_url }));
    const buttons = [open(t.before, passage.before), open(t.after, passage.after)].filter(Boolean);
    return buttons.length > 0 && el("nav", { class: "around", "aria-label": t.neighbours }, buttons);
  }
}

/** The first line repeats the title of the document, which stands above. */
const withoutTitle = (passage) => passage.text.replace(/^# .*\n/, "");

function describe(passage, source) {
  const place = [
    passage.chapter,
    passage.source_file_path,
    passage.page_number && t.page(passage.page_label ?? passage.page_number),
    passage.source_type === "external" && (passage.date ? t.fromWeb(passage.date) : t.web),
  ].filter(Boolean);
  return el(
    "div",
    { class: "place" },
    place.map((line) => el("p", { dir: "auto" }, line)),
    passage.answers && el("p", { dir: "auto" }, t.answersQuestion(passage.answers)),
    source.support && el("p", { class: `verdict ${source.support}` }, t.verdicts[source.support]),
    passage.has_changed && el("p", { class: "notice" }, t.changed),
    passage.source_url && el("p", {}, link(passage.source_url, t.openDocument)),
    (passage.pages ?? []).length > 1 && el("ul", {}, passage.pages.map((page) => el("li", { dir: "auto" }, link(page.url, page.title)))),
  );
}

function asPassage(source) {
  return { ...source, text: source.text_preview ?? "", has_changed: false };
}

function selectedIn(text) {
  const selection = document.getSelection();
  const words = selection && text.contains(selection.anchorNode) ? selection.toString().trim() : "";
  return words.length >= MIN_SELECTION ? words : "";
}
