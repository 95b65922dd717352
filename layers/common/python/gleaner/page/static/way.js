/** The way an answer took: its tool calls, folded away until somebody wants to see them. */
import { call } from "./api.js";
import { el, fill } from "./dom.js";
import { showProblem } from "./problems.js";
import { number, t } from "./texts.js";

export class Way {
  constructor() {
    this.calls = new Map();
    this.list = el("ol", { class: "calls" });
    this.totals = el("p", { class: "totals" });
    this.summary = el("summary", {}, t.theWay);
    this.node = el("details", { class: "way", hidden: true }, this.summary, this.list, this.totals);
  }

  /** A tool was called. */
  begin({ toolCallId, toolName, input }) {
    this.node.hidden = false;
    const item = new CallItem(toolName, input);
    this.calls.set(toolCallId, item);
    this.list.append(item.node);
  }

  /** A call has its outcome; `passages` holds what was found so far, by id. */
  end({ toolCallId, output, errorText }, passages) {
    const found = idsOf(output).map((id) => passages.get(id)).filter(Boolean).map((passage) => passage.chapter ?? passage.title);
    this.calls.get(toolCallId)?.end({
      found,
      count: output?.count,
      milliseconds: output?.duration_ms,
      usd: output?.cost_usd,
      error: errorText,
    });
  }

  /** The answer is there: what it took in all. */
  finish(answer) {
    const { latencyMs, cost, queryId } = answer;
    const total = price(cost.estimated_usd);
    const time = latencyMs !== undefined && seconds(latencyMs, 1);
    this.summary.textContent = [t.theWay, time, total].filter(Boolean).join(" · ");
    const tokens = t.tokens(number(cost.input_tokens ?? 0), number(cost.output_tokens ?? 0));
    this.totals.textContent = [tokens, t.webSearches(cost.web_searches ?? 0), total].filter(Boolean).join(" · ");
    if (this.calls.size || !queryId) return;
    this.node.hidden = false;
    this.node.addEventListener("toggle", () => this.read(queryId), { once: true });
  }

  /** Read the calls of an answer that was given earlier. */
  async read(queryId) {
    try {
      const { tool_calls: calls } = await call("GET", `/api/queries/${queryId}/tool-calls?limit=100`);
      fill(this.list, calls.map((one) => recorded(one).node));
    } catch (error) {
      fill(this.list, el("li", {}, showProblem(error)));
    }
  }
}

class CallItem {
  constructor(tool, input) {
    const searched = input.query ?? (Array.isArray(input.keywords) ? input.keywords.join(", ") : "");
    this.isAnswer = tool === "generate_response";
    this.outcome = el("span", { class: "outcome" });
    this.node = el("li", {}, el("span", { class: "tool" }, t.tools[tool] ?? tool), " ", this.outcome);
    if (searched) this.node.append(el("q", { dir: "auto" }, String(searched)));
  }

  end({ found, count, milliseconds, usd, error }) {
    const facts = [count !== undefined && t.found(count), milliseconds !== undefined && seconds(milliseconds, 2), price(usd)];
    // The call that gives the answer finds nothing, and takes no time: writing comes before it.
    if (!this.isAnswer) this.outcome.textContent = facts.filter(Boolean).join(" · ");
    if (error) this.node.append(el("p", { class: "failed", dir: "auto" }, error));
    const places = [...new Set(found)].map((place) => [place, found.filter((one) => one === place).length]);
    const hits = places.map(([place, times]) => el("li", { dir: "auto" }, times > 1 ? `${place} (${number(times)})` : place));
    if (hits.length) this.node.append(el("ul", { class: "hits" }, hits));
  }
}

function recorded(record) {
  const item = new CallItem(record.tool_name, parse(record.parameters));
  item.end({
    found: record.found,
    count: record.result_count ?? undefined,
    milliseconds: record.duration_ms,
    usd: record.cost_usd,
    error: record.error_message,
  });
  return item;
}

const price = (usd) => (usd ? t.cost(number(usd, { maximumSignificantDigits: 2 })) : null);
const seconds = (milliseconds, digits) => t.seconds(number(milliseconds / 1000, { maximumFractionDigits: digits }));
const idsOf = (output) => (Array.isArray(output?.ids) ? output.ids : []);

/** The arguments in a record are shortened, so they may end before their JSON does. */
function parse(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
