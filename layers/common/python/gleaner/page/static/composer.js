/** Where one asks: the question, the text that it is about, and whether the web may be searched. */
import { button, el, fill } from "./dom.js";
import { keep, settings } from "./settings.js";
import { t } from "./texts.js";

const MAX_SHOWN = 200; // characters of a text that is asked about

export class Composer {
  /** `ask(question)` and `stop()` are called for the reader; `paste()` asks for a text. */
  constructor({ ask, stop, paste }) {
    this.selection = null;
    this.isBusy = false;
    this.ask = ask;
    this.stop = stop;
    this.about = el("div", { class: "selection" });
    this.field = el("textarea", { id: "question", rows: "1", maxlength: "50000", placeholder: t.askPlaceholder, dir: "auto", "aria-label": t.askLabel });
    this.send = el("button", { type: "submit", class: "primary" }, t.ask);
    this.base = el("span", { class: "base" });
    this.strict = el("input", { type: "checkbox", id: "strict", checked: settings.isStrict });
    this.strict.addEventListener("change", () => keep({ isStrict: this.strict.checked }));
    const choice = el("label", { for: "strict", title: t.strictHint }, this.strict, t.strict);
    this.node = el(
      "form",
      { class: "ask" },
      this.about,
      el("div", { class: "line" }, this.field, this.send),
      el("div", { class: "options" }, choice, button(t.pasteShort, paste, { class: "plain" }), this.base),
    );
    this.listen();
  }

  listen() {
    this.node.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.isBusy) this.stop();
      else this.submit();
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (!this.isBusy) this.submit();
    });
  }

  submit() {
    const question = this.field.value.trim();
    if (!question) return this.field.focus();
    this.field.value = "";
    return this.ask(question);
  }

  /** Ask about a text from now on. */
  select(text, chapter = null) {
    this.selection = { text, chapter };
    const remove = button("×", () => {
      this.deselect();
      this.field.focus();
    }, { class: "icon", "aria-label": t.removeSelection });
    fill(this.about, el("strong", {}, t.selection), el("q", { dir: "auto" }, text.slice(0, MAX_SHOWN)), remove);
    this.field.focus();
  }

  deselect() {
    this.selection = null;
    fill(this.about);
  }

  /** While an answer comes, the button stops it. */
  setBusy(isBusy) {
    this.isBusy = isBusy;
    this.send.textContent = isBusy ? t.stop : t.ask;
  }

  /** Put a question back, to be changed. */
  edit(question) {
    this.field.value = question;
    this.field.focus();
  }

  /** Show which knowledge base is asked, unless it is the default one. */
  showBase() {
    this.base.textContent = settings.kbId ? `${t.knowledgeBase}: ${settings.kbId}` : "";
  }

  /** The body of a request that asks a question. */
  toBody(question) {
    const { selection } = this;
    return {
      query: question,
      ...(settings.kbId ? { kb_id: settings.kbId } : {}),
      grounding: settings.isStrict ? "strict" : "open",
      ...(settings.isFresh ? { fresh: true } : {}),
      ...(selection ? { mode: "selected_text", selected_text: selection.text } : {}),
      ...(selection?.chapter ? { chapter_origin: selection.chapter.slice(0, MAX_SHOWN) } : {}),
    };
  }
}
