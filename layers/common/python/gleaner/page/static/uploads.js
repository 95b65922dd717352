/** Loads the reader's own documents: a file at a time, where the service takes files, or else by a command. */
import { upload, uploadPath } from "./api.js";
import { button, el, fill } from "./dom.js";
import { number, t } from "./texts.js";

const COMMAND = "gleaner ingest DIRECTORY";

/** How to load documents; `loaded()` is called when files were. `kbId()` names the knowledge base. */
export function loading(kbId, loaded) {
  if (!uploadPath) return el("div", { class: "load" }, el("p", {}, t.loadHint), command());
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
  return el("div", {}, area, el("details", { class: "load" }, el("summary", {}, t.loadHint), command()));
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

/** Load files one after the other; whether there is anything new. */
async function uploadAll(files, kbId, node) {
  const bar = el("progress", { max: String(files.length), value: "0", "aria-label": t.loadingFiles });
  const list = el("ul");
  const summary = el("p");
  fill(node, bar, summary, list);
  let isNew = false;
  for (const [index, file] of files.entries()) {
    summary.textContent = t.loadingFile(index + 1, files.length, file.name);
    const [outcome, said] = await uploadOne(file, kbId);
    isNew ||= outcome === "loaded" || outcome === "replaced";
    list.append(el("li", { class: outcome, dir: "auto" }, el("span", { class: "name", dir: "auto" }, file.name), ` ${said}`));
    bar.value = index + 1;
  }
  bar.remove();
  summary.textContent = t.filesDone(files.length);
  return isNew;
}

async function uploadOne(file, kbId) {
  try {
    const { outcome, reason, chunk_count: count } = await upload(file, kbId);
    return [outcome, reason ? `${t.outcomes[outcome]}: ${reason}` : `${t.outcomes[outcome]} ${count ? t.passages(number(count)) : ""}`];
  } catch (error) {
    return ["skipped", `${t.outcomes.skipped}: ${t.problems[error.kind] ?? error.message}`];
  }
}
