/** Shows Markdown as DOM nodes. Raw HTML is shown as the text that it is; images are shown as their words. */
import { el, link } from "./dom.js";
import { lexer } from "./vendor-marked.js";

const MARK = /\[((?:kb|web)-\d+)\]/g;
const MAX_DEPTH = 24;

/** The nodes of a text; `cite(id)` makes the node for the mark of a source. */
export function render(markdown, cite = null) {
  return blocks(lexer(markdown), cite, 0);
}

function blocks(tokens, cite, depth) {
  if (depth > MAX_DEPTH) return tokens.map((token) => token.raw);
  return tokens.flatMap((token) => block(token, cite, depth));
}

function block(token, cite, depth) {
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading":
      return el(`h${Math.min(token.depth + 2, 6)}`, { dir: "auto" }, inline(token.tokens, cite, depth));
    case "paragraph":
      return el("p", { dir: "auto" }, inline(token.tokens, cite, depth));
    case "blockquote":
      return el("blockquote", {}, blocks(token.tokens, cite, depth + 1));
    case "code":
      return el("pre", { tabindex: "0", dir: "ltr" }, el("code", {}, token.text));
    case "list":
      return el(
        token.ordered ? "ol" : "ul",
        { start: token.ordered && token.start !== 1 ? token.start : null },
        token.items.map((item) => el("li", { dir: "auto" }, blocks(item.tokens, cite, depth + 1))),
      );
    case "table":
      return table(token, cite, depth);
    case "hr":
      return el("hr");
    case "text":
      return token.tokens ? inline(token.tokens, cite, depth) : marked(token.text, cite);
    default:
      return marked(token.raw, cite);
  }
}

function table(token, cite, depth) {
  const row = (cells, tag) => el("tr", {}, cells.map((cell) => el(tag, { dir: "auto" }, inline(cell.tokens, cite, depth))));
  const body = token.rows.map((cells) => row(cells, "td"));
  return el(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": token.header.map((cell) => cell.text).join(", ") },
    el("table", {}, el("thead", {}, row(token.header, "th")), el("tbody", {}, body)),
  );
}

function inline(tokens, cite, depth) {
  if (depth > MAX_DEPTH) return tokens.map((token) => token.raw);
  return tokens.flatMap((token) => {
    switch (token.type) {
      case "strong":
      case "em":
      case "del":
        return el(token.type, {}, inline(token.tokens, cite, depth + 1));
      case "codespan":
        return el("code", {}, token.text);
      case "br":
        return el("br");
      case "link":
        return link(token.href, inline(token.tokens, null, depth + 1));
      case "image":
      case "escape":
        return token.text;
      case "text":
        return token.tokens ? inline(token.tokens, cite, depth + 1) : marked(token.raw, cite);
      default:
        return marked(token.raw, cite);
    }
  });
}

/** A text in which the marks of sources are nodes of their own. */
function marked(text, cite) {
  if (!cite) return [decode(text)];
  const nodes = [];
  let end = 0;
  for (const mark of text.matchAll(MARK)) {
    nodes.push(decode(text.slice(end, mark.index)), cite(mark[1]));
    end = mark.index + mark[0].length;
  }
  nodes.push(decode(text.slice(end)));
  return nodes.filter((node) => node !== "");
}

const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

function decode(text) {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/gi, (whole, number, hex, name) => {
    if (name) return ENTITIES[name.toLowerCase()] ?? whole;
    const code = number ? Number(number) : Number.parseInt(hex, 16);
    return code > 31 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : whole;
  });
}
