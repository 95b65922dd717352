/** One question and its answer, as they are shown in the conversation. */
import { Problem } from "./api.js";
import { button, el, fill } from "./dom.js";
import { feedback } from "./feedback.js";
import { render } from "./markdown.js";
import { showProblem } from "./problems.js";
import { t } from "./texts.js";

/** Shows a turn while it is answered: `take` is called with each part of the stream. */
export class Turn {
  /** `openSource(source, statement, opener)` shows a passage beside the conversation. */
  constructor(question, { openSource, speak, about = null }) {
    this.openSource = openSource;
    this.speak = speak;
    this.text = "";
    this.spoken = 0;
    this.passages = new Map();
    this.answer = null;
    this.problem = null;
    this.startedAt = performance.now();
    this.status = el("p", { class: "status" }, t.thinking);
    this.notes = el("div", { class: "notes" });
    this.content = el("div", { class: "content", dir: "auto" });
    this.sources = el("div", { class: "sources" });
    this.calls = new Map();
    this.trace = el("ol", { class: "calls" });
    this.way = el("details", { class: "way", hidden: true }, el("summary", {}, t.theWay), this.trace);
    this.after = el("div", { class: "after" });
    this.node = el(
      "article",
      { class: "turn" },
      el("div", { class: "question" }, el("h2", { class: "who" }, t.you), el("p", { dir: "auto" }, question), aboutText(about)),
      el("div", { class: "answer" }, el("h2", { class: "who" }, t.answer), this.status, this.notes, this.content, this.sources, this.way, this.after),
    );
  }

  /** Take one part of the UI message stream. */
  take(part) {
    switch (part.type) {
      case "data-gleaner-step":
        return this.setStatus(t.steps[part.data.step] ?? t.thinking);
      case "tool-input-available":
        return this.addCall(part);
      case "tool-output-available":
      case "tool-output-error":
        return this.endCall(part);
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
    this.show();
    this.speakRest();
    this.status.remove();
    fill(this.notes, notes(this.answer).map((note) => el("p", { class: "notice" }, note)));
    this.showSources();
    this.way.querySelector("summary").textContent = [t.theWay, ...this.figures()].join(" · ");
    if (this.answer.queryId) fill(this.after, this.copyButton(), feedback(this.answer.queryId));
  }

  /** Show a failure, or that the question was stopped, with a way on. */
  fail(error, retry) {
    this.status.remove();
    fill(this.after, showProblem(this.problem ?? error, retry));
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
    fill(this.content, render(this.text, (id) => this.mark(id, numbers)));
  }

  mark(id, numbers) {
    const source = this.answer?.sources.find((one) => one.id === id) ?? this.passages.get(id);
    if (!source) return `[${id}]`;
    const number = this.numberOf(id, numbers);
    const opener = button(String(number), () => this.openSource(source, statementOf(opener), opener), {
      class: "mark",
      "aria-label": t.openSource(number, source.title),
      disabled: this.answer ? null : true,
    });
    return opener;
  }

  numberOf(id, numbers) {
    if (this.answer) return this.orderedSources().findIndex((one) => one.id === id) + 1;
    if (!numbers.has(id)) numbers.set(id, numbers.size + 1);
    return numbers.get(id);
  }

  /** The sources in the order of their marks in the text; those that support nothing come last. */
  orderedSources() {
    const position = (source) => {
      const index = this.text.indexOf(`[${source.id}]`);
      return (source.support === "none" ? 2e9 : 0) + (index < 0 ? 1e9 : index);
    };
    return [...this.answer.sources].sort((one, two) => position(one) - position(two));
  }

  showSources() {
    const ordered = this.orderedSources();
    const item = (source) => {
      const opener = button(source.title, () => this.openSource(source, this.text, opener), { class: "source", dir: "auto" });
      const place = [source.chapter, source.source_file_path, source.date].filter(Boolean).join(" · ");
      return el(
        "li",
        { value: ordered.indexOf(source) + 1 },
        opener,
        place && el("span", { class: "where", dir: "auto" }, place),
        el("span", { class: `verdict ${source.support}` }, t.verdicts[source.support] ?? ""),
      );
    };
    const good = ordered.filter((source) => source.support !== "none");
    const poor = ordered.filter((source) => source.support === "none");
    fill(
      this.sources,
      good.length > 0 && el("section", {}, el("h3", {}, t.sources), el("ol", {}, good.map(item))),
      poor.length > 0 && el("section", {}, el("h3", {}, t.unsupporting), el("ol", {}, poor.map(item))),
    );
  }

  addCall(part) {
    this.way.hidden = false;
    const searched = part.input.query ?? (part.input.keywords ?? []).join(", ");
    const outcome = el("span", { class: "outcome" });
    const item = el("li", {}, el("span", { class: "tool" }, t.tools[part.toolName] ?? part.toolName), outcome);
    if (searched) item.append(el("q", { dir: "auto" }, String(searched)));
    this.calls.set(part.toolCallId, outcome);
    this.trace.append(item);
  }

  endCall(part) {
    const outcome = this.calls.get(part.toolCallId);
    if (!outcome) return;
    if (part.errorText) {
      outcome.textContent = part.errorText;
      outcome.classList.add("failed");
      return;
    }
    const { duration_ms: duration, ...result } = part.output;
    const ids = Object.values(result).filter(Array.isArray)[0];
    const facts = [ids && t.found(ids.length), duration !== undefined && t.seconds((duration / 1000).toFixed(2))];
    outcome.textContent = facts.filter(Boolean).join(" · ");
  }

  figures() {
    const { latencyMs, cost } = this.answer;
    return [
      latencyMs !== undefined && t.seconds((latencyMs / 1000).toFixed(1)),
      t.tokens((cost.input_tokens ?? 0) + (cost.output_tokens ?? 0)),
      cost.estimated_usd && t.cost(cost.estimated_usd.toPrecision(2)),
    ].filter(Boolean);
  }

  copyButton() {
    const copy = button(t.copy, async () => {
      await navigator.clipboard.writeText(this.text);
      copy.textContent = t.copied;
    }, { class: "quiet" });
    return copy;
  }

  /** Say whole sentences to screen readers, once each. */
  speakSentences() {
    const fresh = this.text.slice(this.spoken);
    const end = Math.max(...[...fresh.matchAll(/[.!?。！？।](?:\s|$)/g)].map((match) => match.index + 1), 0);
    if (end) this.speakUpTo(this.spoken + end);
  }

  speakRest() {
    this.speakUpTo(this.text.length);
  }

  speakUpTo(end) {
    const words = this.text.slice(this.spoken, end).replace(/\[(?:kb|web)-\d+\]/g, "").trim();
    this.spoken = Math.max(end, this.spoken);
    if (words) this.speak(words);
  }
}

function aboutText(about) {
  return about && el("details", { class: "about" }, el("summary", {}, t.selection), el("blockquote", { dir: "auto" }, about));
}

/** The answers of both chat routes in one form. */
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
  return [t.answered[answer.answered], answer.status === "fallback" && t.fallback].filter(Boolean);
}

/** The text of the block in which a mark stands. */
function statementOf(mark) {
  const block = mark.closest("p, li, td, th, blockquote, h3, h4, h5, h6") ?? mark.parentElement;
  const range = document.createRange();
  range.selectNodeContents(block);
  range.setEndBefore(mark);
  const before = range.toString();
  const parts = [...new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(before)];
  return parts.pop()?.segment ?? before;
}
