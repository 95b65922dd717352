/** Shows what is loaded into the knowledge base, and removes what was uploaded. */
import { call, inBase, uploadPath } from "./api.js";
import { button, el, fill } from "./dom.js";
import { showProblem } from "./problems.js";
import { showTime, t } from "./texts.js";

/** Fill a node with the documents of a knowledge base. */
export async function showDocuments(node, kbId, openPassage) {
  const list = el("ul", { class: "documents" });
  const reload = () => showDocuments(node, kbId, openPassage);
  fill(node, list);
  const load = async (cursor) => {
    try {
      const page = await call("GET", `/api/documents${inBase(kbId, cursor ? { cursor } : {})}`);
      list.append(...page.documents.map((one) => item(one, kbId, openPassage, reload)));
      if (!list.children.length) fill(node, el("p", {}, t.emptyBase));
      else if (page.next_cursor) node.append(moreButton(() => load(page.next_cursor)));
    } catch (error) {
      node.append(showProblem(error, button(t.retry, reload)));
    }
  };
  await load(null);
}

/** A button that is there once: what it loads has another one. */
function moreButton(load) {
  const more = button(t.more, () => {
    more.remove();
    load();
  });
  return more;
}

function item(one, kbId, openPassage, reload) {
  const passages = el("ol", { class: "chunks" });
  const rest = el("div");
  const facts = [one.source_file_path, `${t.chunks}: ${one.chunk_count}`, one.loaded_at && `${t.loadedAt}: ${showTime(one.loaded_at)}`];
  const details = el(
    "details",
    {},
    el("summary", { dir: "auto" }, one.title),
    el("p", { class: "where", dir: "auto" }, facts.filter(Boolean).join(" · ")),
    passages,
    rest,
  );
  const load = async (cursor) => {
    try {
      const found = await call("GET", `/api/documents/${one.document_id}${inBase(kbId, { limit: "50", ...(cursor ? { cursor } : {}) })}`);
      passages.append(...found.passages.map((passage) => el("li", {}, openButton(one, passage, openPassage))));
      fill(rest, found.next_cursor && moreButton(() => load(found.next_cursor)));
    } catch (error) {
      fill(rest, showProblem(error));
    }
  };
  details.addEventListener("toggle", () => load(null), { once: true });
  const name = uploadPath && one.source_file_path.match(/^uploads\/([^/]+)$/)?.[1];
  return el("li", {}, details, name && remover(one, () => call("DELETE", uploadPath + inBase(kbId, { name })), reload));
}

function remover(one, remove, reload) {
  const label = t.removeDocument(one.title);
  const said = el("div");
  const act = async () => {
    if (!confirm(`${label}?`)) return;
    try {
      await remove();
      await reload();
      document.querySelector("#panel h2").focus();
    } catch (error) {
      fill(said, showProblem(error));
    }
  };
  return [button("×", act, { class: "icon", "aria-label": label }), said];
}

function openButton(one, passage, openPassage) {
  const source = { ...passage, title: one.title };
  const opener = button(passage.chapter ?? passage.text_preview, () => openPassage(source, "", opener), { class: "source", dir: "auto" });
  return opener;
}
