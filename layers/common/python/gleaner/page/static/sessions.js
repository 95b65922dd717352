/** The list of conversations: opened again, or deleted. */
import { call } from "./api.js";
import { button, el, fill } from "./dom.js";
import { showProblem } from "./problems.js";
import { showTime, t } from "./texts.js";

export class SessionList {
  /** `open(id)` shows a conversation; `deleted(id)` is called when one is gone. */
  constructor(node, { open, deleted }) {
    this.node = node;
    this.open = open;
    this.deleted = deleted;
    this.current = null;
    this.items = [];
  }

  async load(cursor = null) {
    try {
      const page = await call("GET", `/api/sessions?limit=30${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
      const items = page.sessions.filter((one) => one.message_count > 0).map((one) => this.item(one));
      this.items = cursor ? [...this.items, ...items] : items;
      const more = page.next_cursor && button(t.more, () => this.load(page.next_cursor));
      fill(this.node, this.items.length ? el("ul", {}, this.items) : el("p", { class: "hint" }, t.noSessions), more);
      this.mark(this.current);
    } catch (error) {
      fill(this.node, showProblem(error, button(t.retry, () => this.load())));
    }
  }

  item(session) {
    const title = session.title ?? showTime(session.created_at);
    return el(
      "li",
      { "data-session": session.session_id },
      button(el("span", { dir: "auto" }, title), () => this.open(session.session_id), { class: "session", title: `${title} · ${showTime(session.updated_at)}` }),
      button("×", () => this.remove(session.session_id), { class: "icon", "aria-label": t.deleteSession(title) }),
    );
  }

  async remove(sessionId) {
    if (!confirm(t.confirmDelete)) return;
    try {
      await call("DELETE", `/api/sessions/${sessionId}`);
      await this.load();
      this.deleted(sessionId);
    } catch (error) {
      fill(this.node, showProblem(error, button(t.retry, () => this.load())));
    }
  }

  /** Show which conversation is open. */
  mark(sessionId) {
    this.current = sessionId;
    for (const item of this.items) {
      const opener = item.firstElementChild;
      if (item.dataset.session === sessionId) opener.setAttribute("aria-current", "true");
      else opener.removeAttribute("aria-current");
    }
  }
}
