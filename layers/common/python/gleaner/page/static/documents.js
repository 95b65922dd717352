/** Shows the documents of the knowledge base and their states, and removes them for those who may. */
import { call, inBase } from "./api.js";
import { button, el, fill } from "./dom.js";
import { showProblem } from "./problems.js";
import { showTime, t } from "./texts.js";

const TRIES = 30; // to see that a document is gone
const PAUSE = { first: 500, last: 3000 }; // milliseconds between two of them

/** Fill a node with the documents of a knowledge base; `own` loads more of them. */
export async function showDocuments(node, kbId, openPassage, own) {
  const list = el("ul", { class: "documents" });
  const reload = () => showDocuments(node, kbId, openPassage, own);
  fill(node, list);
  const load = async (cursor) => {
    try {
      const page = await call("GET", `/api/documents${inBase(kbId, cursor ? { cursor } : {})}`);
      own.admit(page.may_edit);
      list.append(...page.documents.map((one) => item(one, kbId, openPassage, page.may_edit && reload)));
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
  const state = one.state === "loaded" ? null : [t.states[one.state], one.reason].filter(Boolean).join(": ");
  const readers = one.groups && t.forGroups(one.groups.join(", "));
  const place = el("span", { class: "where", dir: "auto" }, [state, readers, one.source_file_path].filter(Boolean).join(" · "));
  const facts = [`${t.chunks}: ${one.chunk_count}`, one.loaded_at && `${t.loadedAt}: ${showTime(one.loaded_at)}`];
  const details = el(
    "details",
    {},
    el("summary", { dir: "auto" }, one.title, place),
    el("p", { class: "where" }, facts.filter(Boolean).join(" · ")),
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
  return el("li", { class: one.state }, details, reload && remover(one, () => remove(one, kbId), reload));
}

/** Remove a document, and wait until it is gone: its passages may take a moment. */
async function remove(one, kbId) {
  const path = `/api/documents/${one.document_id}`;
  let { finished } = await call("DELETE", path + inBase(kbId));
  for (let tries = 0, pause = PAUSE.first; !finished && tries < TRIES; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 1.5, PAUSE.last);
    try {
      await call("GET", path + inBase(kbId, { limit: "1" }));
    } catch (error) {
      if (error.kind !== "unknown-document") throw error;
      finished = true;
    }
  }
}

function remover(one, remove, reload) {
  const label = t.removeDocument(one.title);
  const said = el("div");
  const act = async () => {
    if (!confirm(`${label}?\n${one.source_file_path}`)) return; // many documents may have the same title
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
