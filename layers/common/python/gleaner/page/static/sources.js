/** The sources of an answer: in the order of their marks, and those that support nothing last and apart. */
import { button, el, fill } from "./dom.js";
import { t } from "./texts.js";

const AFTER_ALL = 1e9; // beyond the position of any mark

/** The sources in the order of their marks in the text; those that support nothing come last. */
export function inOrder(sources, text) {
  const position = (source) => {
    const index = text.indexOf(`[${source.id}]`);
    return (source.support === "none" ? 2 * AFTER_ALL : 0) + (index < 0 ? AFTER_ALL : index);
  };
  return [...sources].sort((one, two) => position(one) - position(two));
}

/** Fill a node with the list; `open(source, opener)` shows a passage. */
export function showSources(node, ordered, open) {
  const show = (sources, title) =>
    sources.length > 0 && el("section", {}, el("h3", {}, title), el("ol", {}, sources.map((one) => item(one, ordered.indexOf(one) + 1, open))));
  const supports = (source) => source.support !== "none";
  fill(node, show(ordered.filter(supports), t.sources), show(ordered.filter((one) => !supports(one)), t.unsupporting));
}

function item(source, position, open) {
  const opener = button(source.title, () => open(source, opener), { class: "source", dir: "auto" });
  const place = [source.chapter?.replace(`${source.title} › `, ""), source.source_file_path, source.page_number && t.page(source.page_label ?? source.page_number), source.date];
  const said = source.supporting_texts?.find(Boolean) ?? source.text_preview;
  const where = place.filter(Boolean).join(" · ");
  return el(
    "li",
    { value: position },
    opener,
    source.support && el("span", { class: `verdict ${source.support}` }, t.verdicts[source.support]),
    where && el("span", { class: "where", dir: "auto" }, where),
    said && el("span", { class: "preview", dir: "auto" }, said),
  );
}
