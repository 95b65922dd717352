/** The conversation: turns that are asked, answered, stopped, and opened again. */
import { Problem, ask, call } from "./api.js";
import { button, el, fill } from "./dom.js";
import { isWorthEditing, isWorthRetry, leadsToSettings, showProblem } from "./problems.js";
import { t } from "./texts.js";
import { Turn } from "./turn.js";

const MAX_SPOKEN = 50; // sentences that the log keeps

export class Conversation {
  /** `page.greet(node)` fills an empty conversation; `kept` and `opened` are told which one was stored or shown. */
  constructor(composer, page) {
    this.composer = composer;
    this.page = page;
    this.sessionId = null;
    this.running = null;
    this.turns = el("div", { class: "turns", tabindex: "0", role: "region", "aria-label": t.conversation });
    this.log = el("div", { id: "log", role: "log", class: "hidden-text", "aria-live": "polite", "aria-label": t.answer });
  }

  /** Ask a question, which is answered in a turn of its own. */
  async ask(question, { key = crypto.randomUUID(), body = this.composer.toBody(question) } = {}) {
    if (this.running) return;
    const running = new AbortController();
    this.setRunning(running);
    const turn = this.begin(question, body.selected_text);
    try {
      const parts = ask(body, { sessionId: this.sessionId, key, signal: running.signal });
      for await (const part of parts) if (this.running === running) turn.take(part);
      if (!turn.answer) throw turn.problem ?? new Problem("lost", "");
      if (this.running === running) this.keep(turn.answer.sessionId);
    } catch (error) {
      const problem = error.name === "AbortError" ? new Problem("aborted", "") : error;
      turn.fail(problem, (told) => this.waysOn(told, turn, question, { key, body }));
    } finally {
      if (this.running === running) this.setRunning(null);
    }
  }

  setRunning(running) {
    this.running = running;
    this.composer.setBusy(Boolean(running));
  }

  begin(question, about) {
    const turn = new Turn(question, { openSource: this.page.openSource, speak: (words) => this.speak(words), about });
    this.turns.querySelector(":scope > :is(.welcome, .problem)")?.remove(); // a problem of a turn stays in it
    this.turns.append(turn.node);
    turn.node.scrollIntoView({ block: "start", behavior: calm() });
    return turn;
  }

  stop() {
    this.running?.abort();
  }

  /** What a reader can do about a problem. */
  waysOn(problem, turn, question, asked) {
    const way = (label, act) =>
      button(label, () => {
        turn.node.remove();
        act();
      });
    return [
      isWorthRetry(problem) && way(t.retry, () => this.ask(question, asked)),
      isWorthEditing(problem) && way(t.editQuestion, () => this.composer.edit(question)),
      leadsToSettings(problem) && button(t.settings, this.page.showSettings),
      problem.kind === "unknown-session" && way(t.startAnew, this.page.startNew),
    ];
  }

  keep(sessionId) {
    this.composer.deselect();
    this.sessionId = sessionId;
    this.page.kept(sessionId);
  }

  /** Screen readers hear whole sentences, because each is a child of its own of the log. */
  speak(words) {
    this.log.append(el("p", {}, words));
    while (this.log.children.length > MAX_SPOKEN) this.log.firstChild.remove();
  }

  leave(sessionId) {
    this.stop();
    this.setRunning(null);
    this.sessionId = sessionId;
    this.page.opened(sessionId);
  }

  /** Show an empty conversation, with what one may ask. */
  startNew() {
    this.leave(null);
    const greeting = el("section", { class: "welcome" });
    fill(this.turns, greeting);
    return this.page.greet(greeting);
  }

  /** Show a conversation that was kept. */
  async open(sessionId) {
    this.leave(sessionId);
    try {
      const shown = await this.read(sessionId);
      if (this.sessionId !== sessionId) return;
      fill(this.turns, shown.map((turn) => turn.node));
      shown.at(-1)?.node.scrollIntoView({ block: "start" });
    } catch (error) {
      const again = button(t.retry, () => this.open(sessionId));
      const anew = button(t.startAnew, () => this.page.startNew());
      fill(this.turns, showProblem(error, isWorthRetry(error) && again, anew));
    }
  }

  async read(sessionId) {
    const shown = [];
    let cursor = "";
    do {
      const page = await call("GET", `/api/sessions/${sessionId}/messages?limit=100${cursor}`);
      for (const message of page.messages) {
        if (message.role === "user") shown.push(this.readQuestion(message));
        else shown.at(-1)?.finish({ message, sources: message.metadata.sources ?? [] });
      }
      cursor = page.next_cursor && `&cursor=${encodeURIComponent(page.next_cursor)}`;
    } while (cursor);
    return shown;
  }

  readQuestion(message) {
    const turn = new Turn(message.content, { openSource: this.page.openSource, speak: () => {} });
    if (message.mode === "selected_text") turn.readSelection(message.session_id, message.id);
    return turn;
  }
}

const calm = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth");
