/** One question and its answer, as they are shown in the conversation. */
import { Problem, call } from "./api.js";
import { button, el, fill } from "./dom.js";
import { feedback } from "./feedback.js";
import { render } from "./markdown.js";
import { showProblem } from "./problems.js";
import { inOrder, showSources } from "./sources.js";
import { t } from "./texts.js";
import { Way } from "./way.js";

const SENTENCE_END = /[.!?。！？।](?:\s|$)/g;

/** Shows a turn while it is answered: `take` is called with each part of the stream. */
export class Turn {
  /** `openSource(source, sentence, opener)` shows a passage with that sentence marked. */
  constructor(question, { openSource, speak, about = null }) {
    this.openSource = openSource;
    this.speak = speak;
    this.text = "";
    this.spoken = 0;
    this.passages = new Map();
    this.answer = null;
    this.problem = null;
    this.status = el("p", { class: "status" }, t.thinking);
    this.notes = el("div", { class: "notes" });
    this.content = el("div", { class: "content", dir: "auto" });
    this.sources = el("div", { class: "sources" });
    this.way = new Way();
    this.after = el("div", { class: "after" });
    this.question = el("div", { class: "question" }, el("h2", { class: "who" }, t.you), el("p", { dir: "auto" }, question));
    if (about) this.question.append(folded(el("blockquote", { dir: "auto" }, about)));
    const answer = [this.status, this.notes, this.content, this.sources, this.way.node, this.after];
    this.node = el("article", { class: "turn" }, this.question, el("div", { class: "answer" }, el("h2", { class: "who" }, t.answer), answer));
  }

  /** Take one part of the UI message stream. */
  take(part) {
    switch (part.type) {
      case "data-gleaner-step":
        return this.setStatus(t.steps[part.data.step] ?? t.thinking);
      case "tool-input-available":
        return this.way.begin(part);
      case "tool-output-available":
      case "tool-output-error":
        return this.way.end(part, this.passages);
      case "data-gleaner-passages":
        return part.data.forEach((passage) => this.passages.set(passage.id, passage));
      case "text-delta":
        return this.write(part.delta);
      case "text-end":
        return part.providerMetadata?.gleaner?.withdrawn ? this.withdraw() : undefined;
      case "data-gleaner-answer":
        return this.finish(part.data);
      case "data-gleaner-problem":
        this.problem = new Problem(String(part.data.type).split(":").pop(), part.data.detail);
    }
    return undefined;
  }

  /** Show the whole answer as the service keeps it. */
  finish(answer) {
    this.answer = plain(answer);
    this.text = this.answer.text;
    this.ordered = inOrder(this.answer.sources, this.text);
    this.show();
    this.speakUpTo(this.text.length);
    this.status.remove();
    fill(this.notes, notes(this.answer).map((note) => el("p", { class: "notice" }, note)));
    showSources(this.sources, this.ordered, (source, opener) => this.openSource(source, source.supporting_texts?.find(Boolean), opener));
    this.way.finish(this.answer);
    if (this.answer.queryId) fill(this.after, this.copyButton(), feedback(this.answer.queryId));
  }

  /** Show a failure, or that the question was stopped; `ways` are buttons that lead on. */
  fail(error, ways) {
    const problem = this.problem ?? error;
    this.status.remove();
    fill(this.notes);
    fill(this.after, showProblem(problem, ...ways(problem)));
  }

  /** Say that the question is about a text, which is read once somebody unfolds it. */
  readSelection(sessionId, messageId) {
    const quote = el("blockquote", { dir: "auto" });
    const details = folded(quote);
    details.addEventListener("toggle", async () => {
      try {
        const path = `/api/sessions/${sessionId}/messages/${encodeURIComponent(messageId)}/selected-text`;
        quote.textContent = (await call("GET", path)).selected_text;
      } catch (error) {
        fill(quote, showProblem(error));
      }
    }, { once: true });
    this.question.append(details);
  }

  setStatus(text) {
    if (this.status.textContent !== text) this.status.textContent = text;
  }

  write(delta) {
    this.text += delta;
    this.show();
    this.speakSentences();
  }

  withdraw() {
    this.text = "";
    this.spoken = 0;
    this.content.replaceChildren();
    fill(this.notes, el("p", { class: "notice" }, t.withdrawn));
    this.speak(t.withdrawn);
  }

  show() {
    const numbers = new Map();
    const seen = new Map(); // marks of each source so far
    const count = (id) => seen.set(id, (seen.get(id) ?? -1) + 1).get(id);
    fill(this.content, render(this.text, (id) => this.mark(id, numbers, count(id))));
  }

  /** The button of a mark, which is the one of its source after `before` others. */
  mark(id, numbers, before) {
    const source = this.answer?.sources.find((one) => one.id === id) ?? this.passages.get(id);
    if (!source) return `[${id}]`;
    if (!numbers.has(id)) numbers.set(id, this.ordered ? this.ordered.indexOf(source) + 1 : numbers.size + 1);
    const position = numbers.get(id);
    const opener = button(String(position), () => this.openSource(source, source.supporting_texts?.[before], opener), {
      class: `mark ${source.support ?? ""}`,
      "aria-label": t.openSource(position, source.title, t.verdicts[source.support]),
      disabled: this.answer ? null : true,
    });
    return opener;
  }

  copyButton() {
    const copy = button(t.copy, async () => {
      try {
        await navigator.clipboard.writeText(this.text);
        copy.textContent = t.copied;
      } catch {
        copy.textContent = t.notCopied; // the browser forbids it
      }
    });
    return copy;
  }

  /** Say whole sentences to screen readers, once each. */
  speakSentences() {
    const fresh = this.text.slice(this.spoken);
    const end = Math.max(...[...fresh.matchAll(SENTENCE_END)].map((match) => match.index + 1), 0);
    if (end) this.speakUpTo(this.spoken + end);
  }

  speakUpTo(end) {
    const words = this.text.slice(this.spoken, end).replace(/\[(?:kb|web)-\d+\]/g, "").trim();
    this.spoken = Math.max(end, this.spoken);
    if (words) this.speak(words);
  }
}

function folded(content) {
  return el("details", { class: "about" }, el("summary", {}, t.selection), content);
}

/** The answers of both chat routes, and of the history, in one form. */
function plain(answer) {
  const message = answer.message;
  const facts = message?.metadata ?? answer;
  return {
    queryId: answer.query_id ?? message?.id.split("-")[0],
    sessionId: answer.session_id ?? message?.session_id,
    text: answer.answer ?? message.content,
    sources: answer.sources ?? [],
    answered: facts.answered ?? "found",
    status: answer.status ?? "success",
    latencyMs: facts.latency_ms,
    cost: answer.cost ?? facts,
  };
}

function notes(answer) {
  // else the text says it, or greets
  return [answer.sources.length && t.answered[answer.answered], answer.status === "fallback" && t.fallback].filter(Boolean);
}
