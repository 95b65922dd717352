/** The page: conversations at one side, the conversation, and a panel with what an answer rests on. */
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { showDocuments } from "./documents.js";
import { button, el, fill } from "./dom.js";
import { showLearned } from "./learned.js";
import { Panel } from "./panel.js";
import { Passages } from "./passage.js";
import { SessionList } from "./sessions.js";
import { settings, showSettings } from "./settings.js";
import { showAccount } from "./sign-in.js";
import { welcome } from "./suggestions.js";
import { language, t } from "./texts.js";
import { loading } from "./uploads.js";

document.documentElement.lang = language;

const aside = el("aside", { id: "panel", "aria-label": t.details, hidden: true });
const list = el("div", { class: "sessions" });
const sidebar = el("nav", { id: "sidebar", "aria-label": t.sessions });
const menu = button("☰", () => toggleSidebar(), { class: "icon menu", "aria-label": t.menu, "aria-expanded": "false", "aria-controls": "sidebar" });
const panel = new Panel(aside, () => (isShown(menu) ? menu : composer.field));
const composer = new Composer({
  ask: (question) => conversation.ask(question),
  stop: () => conversation.stop(),
  paste: () => panel.show(t.pasteSelection, showPaste),
});
const passages = new Passages(panel, (text, chapter) => askAbout(text, chapter));
const openSource = (source, sentence, opener) => passages.show(source, sentence, opener);
const conversation = new Conversation(composer, {
  openSource,
  greet,
  startNew,
  showSettings: () => panel.show(t.settings, (body) => showSettings(body, change)),
  kept: (sessionId) => {
    showAddress(sessionId, "replaceState"); // the address of the empty page, or of this conversation
    sessions.load();
  },
  opened: (sessionId) => {
    toggleSidebar(false);
    showAddress(sessionId);
  },
});
const sessions = new SessionList(list, { open: (id) => conversation.open(id), deleted: (id) => afterDeletion(id) });

const isShown = (element) => element.checkVisibility({ visibilityProperty: true });

/** The address names the conversation, so that a reload opens it again, and the way back leads to the one before. */
function showAddress(sessionId, write = "pushState") {
  sessions.mark(sessionId);
  if (sessionId !== sessionInAddress()) history[write](null, "", sessionId ? `#${sessionId}` : location.pathname + location.search);
}

const sessionInAddress = () => location.hash.match(/^#([0-9A-Z]{26})$/)?.[1] ?? null;

function follow() {
  const sessionId = sessionInAddress();
  if (sessionId) conversation.open(sessionId);
  else startNew();
}

/** Fill an empty conversation: again once the reader has loaded documents, whose progress stays in sight. */
async function greet(greeting) {
  const own = loading(() => settings.kbId, () => show());
  const show = async () => fill(greeting, el("h2", {}, t.welcome), await welcome(settings.kbId, (question) => conversation.ask(question), own));
  fill(greeting, el("h2", {}, t.welcome));
  await show();
}

function startNew() {
  const greeted = conversation.startNew();
  composer.field.focus();
  return greeted;
}

/** Another caller or knowledge base: the conversation that is open does not belong to it. */
function change() {
  composer.showBase();
  sessions.load();
  return conversation.startNew();
}

function afterDeletion(sessionId) {
  if (conversation.sessionId === sessionId) startNew();
  else sidebar.querySelector("button").focus();
}

/** On a narrow window the sidebar covers the conversation, until it is closed. */
function toggleSidebar(isOpen = !document.body.classList.contains("with-sidebar")) {
  document.body.classList.toggle("with-sidebar", isOpen);
  menu.setAttribute("aria-expanded", String(isOpen));
  if (isOpen) sidebar.querySelector("button").focus();
}

function askAbout(text, chapter = null) {
  panel.close();
  composer.select(text, chapter);
}

function showPaste(body) {
  const text = el("textarea", { rows: "12", maxlength: "100000", dir: "auto", "aria-label": t.pasteSelection });
  const use = button(t.askText, () => (text.value.trim() ? askAbout(text.value) : text.focus()), { class: "primary" });
  fill(body, text, use);
  text.focus();
}

function showDocumentsPanel(body) {
  const shown = el("div");
  const show = () => showDocuments(shown, settings.kbId, openSource, own);
  const own = loading(() => settings.kbId, show);
  fill(body, own.node, shown);
  return show();
}

function tool(title, show) {
  const opener = button(title, () => {
    toggleSidebar(false);
    panel.show(title, show, opener);
  });
  return opener;
}

function build() {
  const tools = [tool(t.documents, showDocumentsPanel), tool(t.learned, showLearned), tool(t.settings, (body) => showSettings(body, change))];
  fill(sidebar, button(t.newChat, startNew, { class: "primary" }), list, el("div", { class: "tools" }, tools));
  document.body.append(
    el("a", { class: "skip", href: "#question" }, t.skip),
    el("header", { class: "top" }, menu, el("h1", {}, t.title), el("p", {}, t.tagline), showAccount()),
    el("div", { class: "columns" }, sidebar, el("main", {}, conversation.turns, conversation.log, composer.node), aside),
  );
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (document.body.classList.contains("with-sidebar")) {
      toggleSidebar(false);
      menu.focus();
    } else if (panel.isOpen) panel.close();
  });
  // A file that misses its place must not replace the page.
  for (const kind of ["dragover", "drop"]) document.addEventListener(kind, (event) => event.preventDefault());
}

function begin() {
  composer.showBase();
  sessions.load();
  addEventListener("popstate", follow);
  follow();
}

build();
begin();
