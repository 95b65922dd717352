/** Loads the reader's own documents: a file at a time, for those who may upload, or else by a command. */
import { call, inBase, sendForm } from "./api.js";
import { button, el, fill } from "./dom.js";
import { Problem } from "./problem.js";
import { number, t } from "./texts.js";

const COMMAND = "gleaner ingest DIRECTORY";
const FINAL = ["loaded", "skipped", "failed"];
const LASTING = ["unknown-document", "not-allowed", "unauthorized"]; // problems that another try does not solve
const MAX_FAILURES = 5; // of requests for one state
const PAUSE = { first: 500, last: 5000 }; // milliseconds between two requests for a state

/** How to load documents, as a `node`; `admit(may)` says whether files may be uploaded.
 *
 * `loaded()` is called when files were. `kbId()` names the knowledge base.
 */
export function loading(kbId, loaded) {
  const node = el("div", {}, el("div", { class: "load" }, el("p", {}, t.loadHint), command()));
  let area = null;
  const admit = (may) => {
    if (!may || area) return;
    area = dropArea(kbId, loaded);
    fill(node, area, el("details", { class: "load" }, el("summary", {}, t.loadHint), command()));
  };
  return { node, admit };
}

function dropArea(kbId, loaded) {
  const progress = el("div", { class: "uploads", role: "status" });
  const choose = el("input", { type: "file", multiple: true, "aria-label": t.chooseFiles, hidden: true });
  const area = el("div", { class: "load drop" }, el("p", {}, t.dropHint), button(t.chooseFiles, () => choose.click()), choose, progress);
  const take = async (files) => {
    if (area.getAttribute("aria-busy") === "true" || !files.length) return;
    area.setAttribute("aria-busy", "true");
    const isNew = await uploadAll(files, kbId(), progress);
    area.removeAttribute("aria-busy");
    if (isNew) loaded();
  };
  choose.addEventListener("change", async () => {
    await take([...choose.files]);
    choose.value = ""; // the same file can be chosen again
  });
  onDrop(area, take);
  return area;
}

const command = () => el("pre", { tabindex: "0" }, el("code", {}, COMMAND));

function onDrop(area, take) {
  const mark = (isOver) => area.classList.toggle("over", isOver);
  area.addEventListener("dragover", (event) => {
    event.preventDefault();
    mark(true);
  });
  area.addEventListener("dragleave", () => mark(false));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(false);
    take([...event.dataTransfer.files]);
  });
}

/** Send files one after the other, and follow all of them; whether there is anything new. */
async function uploadAll(files, kbId, node) {
  const bar = el("progress", { max: String(files.length), value: "0", "aria-label": t.loadingFiles });
  const list = el("ul");
  const summary = el("p");
  fill(node, bar, summary, list);
  const followed = [];
  for (const [index, file] of files.entries()) {
    summary.textContent = t.loadingFile(index + 1, files.length, file.name);
    const line = new Line(file.name);
    list.append(line.node);
    const [end] = await begin(file, kbId, line);
    followed.push(end);
    Promise.resolve(end).then(() => (bar.value += 1));
  }
  summary.textContent = t.filesSent;
  const states = await Promise.all(followed);
  bar.remove();
  summary.textContent = t.filesDone(files.length);
  return states.includes("loaded");
}

/** Send a file. The state in which its loading ends, or a promise of it, in a list: `await` would wait for it, too. */
async function begin(file, kbId, line) {
  try {
    if (!file.size) throw new Problem("empty-file", "");
    const body = { name: file.name, size: file.size, ...(kbId ? { kb_id: kbId } : {}) };
    const form = await call("POST", "/api/documents", body);
    await sendForm(form, file);
    return [follow(form.document_id, kbId, line)];
  } catch (error) {
    return [line.fail(error)];
  }
}

/** Show the states of a document until one lasts, and return it. */
async function follow(documentId, kbId, line) {
  let failures = 0;
  for (let pause = PAUSE.first; ; pause = Math.min(pause * 1.5, PAUSE.last)) {
    try {
      const path = `/api/documents/${documentId}${inBase(kbId, { limit: "1" })}`;
      const { document } = await call("GET", path);
      line.show(document);
      if (FINAL.includes(document.state)) return document.state;
      failures = 0;
    } catch (error) {
      failures += 1;
      if (LASTING.includes(error.kind) || failures === MAX_FAILURES) return line.fail(error);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    if (!line.node.isConnected) return null; // nobody looks any more
  }
}

/** The line of one file: its name, its state and the reason. */
class Line {
  constructor(name) {
    this.said = el("span", {}, ` ${t.sending}`);
    this.node = el("li", { class: "sending", dir: "auto" }, el("span", { class: "name", dir: "auto" }, name), this.said);
  }

  show({ state, reason, chunk_count: count }) {
    const more = reason ? `: ${reason}` : state === "loaded" ? ` ${t.passages(number(count))}` : "";
    this.node.className = state;
    this.said.textContent = ` ${t.states[state]}${more}`;
  }

  fail(error) {
    this.show({ state: "failed", reason: t.uploadProblems[error.kind] ?? t.problems[error.kind] ?? error.message });
    return "failed";
  }
}
