/** The list of conversations: opened again, or deleted. */
import { call } from "./api.js";
import { button, el, fill } from "./dom.js";
import { showProblem } from "./problems.js";
import { showTime, t } from "./texts.js";

const TITLES = "gleaner.titles"; // first questions, kept in this browser, because the list of the service has none
const MAX_TITLES = 200;
const MAX_TITLE = 80;

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
      const more = page.next_cursor && button(t.more, () => this.load(page.next_cursor), { class: "quiet" });
      fill(this.node, this.items.length ? el("ul", {}, this.items) : el("p", { class: "hint" }, t.noSessions), more);
      this.mark(this.current);
    } catch (error) {
      fill(this.node, showProblem(error, button(t.retry, () => this.load(), { class: "quiet" })));
    }
  }

  item(session) {
    const title = titles()[session.session_id] ?? showTime(session.created_at);
    return el(
      "li",
      { "data-session": session.session_id },
      button(title, () => this.open(session.session_id), { class: "session", dir: "auto", title: `${title} · ${showTime(session.updated_at)}` }),
      button("×", () => this.remove(session.session_id), { class: "icon", "aria-label": t.deleteSession(title) }),
    );
  }

  async remove(sessionId) {
    if (!confirm(t.confirmDelete)) return;
    try {
      await call("DELETE", `/api/sessions/${sessionId}`);
      forgetTitle(sessionId);
      await this.load();
      this.deleted(sessionId);
    } catch (error) {
      fill(this.node, showProblem(error, button(t.retry, () => this.load(), { class: "quiet" })));
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

function titles() {
  try {
    return JSON.parse(localStorage.getItem(TITLES) ?? "{}");
  } catch {
    return {};
  }
}

function keep(kept) {
  localStorage.setItem(TITLES, JSON.stringify(Object.fromEntries(Object.entries(kept).slice(-MAX_TITLES))));
}

/** Remember the first question of a conversation as its title. */
export function keepTitle(sessionId, question) {
  keep({ [sessionId]: question.slice(0, MAX_TITLE), ...titles() });
}

function forgetTitle(sessionId) {
  const { [sessionId]: _gone, ...rest } = titles();
  keep(rest);
}

/** Forget them all: the next reader may be somebody else. */
export function forgetTitles() {
  localStorage.removeItem(TITLES);
}
