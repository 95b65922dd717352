/** Marks the sentence of a passage that a statement rests on, as the service names it. */
import { el } from "./dom.js";

const BLOCKS = "p, li, td, th, blockquote, pre, h3, h4, h5, h6";
const MAX_TEXT = 20_000; // characters of one block in which a sentence is looked for
const MIN_SHARED = 2; // words: one alone is in many sentences

/** Mark the sentence with the words of the text, which may be cut, and has the Markdown that was rendered. */
export function markSentence(passage, text) {
  const wanted = new Set(words(text));
  let best = null;
  for (const block of leaves(passage)) {
    for (const sentence of segments(block.textContent, "sentence")) {
      const said = words(sentence.segment);
      const shared = new Set(said.filter((word) => wanted.has(word))).size;
      const score = shared / Math.sqrt(Math.max(said.length, 1));
      if (shared >= MIN_SHARED && score > (best?.score ?? 0)) best = { block, score, ...span(sentence) };
    }
  }
  if (best) wrap(best.block, best.start, best.end).at(0)?.scrollIntoView({ block: "nearest" });
}

/** Blocks that hold words themselves, not in blocks of their own. */
function leaves(passage) {
  const blocks = [...passage.querySelectorAll(BLOCKS)].filter((block) => !block.querySelector(BLOCKS));
  return blocks.length ? blocks : [passage];
}

function span({ segment, index }) {
  return { start: index, end: index + segment.trimEnd().length };
}

/** Wrap the characters from `start` to `end` of a block, whatever elements they are in. */
function wrap(block, start, end) {
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  const pieces = [];
  for (let at = 0; walker.nextNode() && at < end; ) {
    const { currentNode: node } = walker;
    const [from, to] = [Math.max(start - at, 0), Math.min(end - at, node.length)];
    if (from < to) pieces.push([node, from, to]);
    at += node.length;
  }
  return pieces.map(([node, from, to]) => {
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, to);
    const mark = el("mark");
    range.surroundContents(mark);
    return mark;
  });
}

function segments(value, granularity) {
  return new Intl.Segmenter(undefined, { granularity }).segment(value.slice(0, MAX_TEXT));
}

function words(value) {
  return [...segments(value, "word")].filter((one) => one.isWordLike).map((one) => one.segment.toLowerCase());
}
