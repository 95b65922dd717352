/** The panel beside the conversation: one thing at a time, with a heading that takes the focus. */
import { button, el, fill } from "./dom.js";
import { t } from "./texts.js";

export class Panel {
  /** `fallback` gives the element that takes the focus where the opener has gone. */
  constructor(node, fallback) {
    this.node = node;
    this.fallback = fallback;
    this.opener = null;
  }

  get isOpen() {
    return !this.node.hidden;
  }

  /** Show a title and what `build(body)` fills in; the focus goes there, and back to `opener` at the end. */
  show(title, build, opener = document.activeElement) {
    if (!this.node.contains(opener)) this.opener = opener; // what is opened from here leads back to where all began
    const heading = el("h2", { tabindex: "-1", dir: "auto" }, title);
    const body = el("div", { class: "passage" });
    const close = button("×", () => this.close(), { "aria-label": t.close, class: "icon" });
    fill(this.node, el("header", { class: "bar" }, heading, close), body);
    this.node.hidden = false;
    document.body.classList.add("with-panel");
    this.node.scrollTop = 0;
    heading.focus();
    return build(body);
  }

  close() {
    this.node.hidden = true;
    document.body.classList.remove("with-panel");
    this.opener?.focus();
    if (document.activeElement !== this.opener) this.fallback().focus();
  }
}
