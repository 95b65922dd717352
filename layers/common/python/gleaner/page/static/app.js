/** The page: conversations at one side, the conversation, and a panel with what an answer rests on. */
import { Problem, ask, call } from "./api.js";
import { showDocuments, welcome } from "./documents.js";
import { button, el, fill } from "./dom.js";
import { showLearned } from "./learned.js";
import { PassagePanel } from "./passage.js";
import { showProblem } from "./problems.js";
import { SessionList, keepTitle } from "./sessions.js";
import { settings, showSettings } from "./settings.js";
import { showAccount } from "./sign-in.js";
import { language, t } from "./texts.js";
import { Turn } from "./turn.js";

document.documentElement.lang = language;

const log = el("div", { id: "log", role: "log", class: "hidden-text", "aria-live": "polite", "aria-label": t.answer });
const turns = el("div", { class: "turns" });
const panel = el("aside", { id: "panel", "aria-label": t.details, hidden: true });
const list = el("div", { class: "sessions" });
const about = el("div", { class: "selection" });
const field = el("textarea", { id: "question", rows: "1", maxlength: "50000", placeholder: t.askPlaceholder, dir: "auto", "aria-label": t.askLabel });
const send = el("button", { type: "submit", class: "primary" }, t.ask);
const sidebar = el("nav", { id: "sidebar", "aria-label": t.sessions });
const state = { sessionId: null, running: null, selection: null };

const passages = new PassagePanel(panel, {
  open: () => openPanel(),
  close: () => closePanel(),
  askAbout: (text, chapter) => selectText(text, chapter),
});
const openSource = (source, statement, opener) => passages.show(source, { statement, opener });
const sessions = new SessionList(list, { open: (id) => openSession(id), started: () => startNew() });

function openPanel() {
  panel.hidden = false;
  document.body.classList.add("with-panel");
}

function closePanel() {
  panel.hidden = true;
  document.body.classList.remove("with-panel");
}

function showInPanel(title, show) {
  const opener = document.activeElement;
  const heading = el("h2", { tabindex: "-1" }, title);
  const body = el("div", { class: "passage" });
  const close = () => {
    closePanel();
    opener?.focus();
  };
  fill(panel, el("header", { class: "bar" }, heading, button("×", close, { "aria-label": t.close, class: "icon" })), body);
  openPanel();
  heading.focus();
  show(body);
}

/** Screen readers hear whole sentences, because each is a child of its own of the log. */
function speak(words) {
  log.append(el("p", {}, words));
  while (log.children.length > 50) log.firstChild.remove();
}

function selectText(text, chapter = null) {
  state.selection = { text, chapter };
  const remove = button("×", () => {
    state.selection = null;
    fill(about);
    field.focus();
  }, { class: "icon", "aria-label": t.removeSelection });
  fill(about, el("strong", {}, t.selection), el("q", { dir: "auto" }, text.slice(0, 200)), remove);
  field.focus();
}

function toBody(question) {
  const { selection } = state;
  return {
    query: question,
    ...(settings.kbId ? { kb_id: settings.kbId } : {}),
    grounding: settings.isStrict ? "strict" : "open",
    ...(settings.isFresh ? { fresh: true } : {}),
    ...(selection ? { mode: "selected_text", selected_text: selection.text } : {}),
    ...(selection?.chapter ? { chapter_origin: selection.chapter.slice(0, 200) } : {}),
  };
}

async function submit(question, key = crypto.randomUUID(), body = toBody(question)) {
  if (state.running) return;
  const turn = new Turn(question, { openSource, speak, about: body.selected_text });
  turns.querySelector(".welcome")?.remove();
  turns.append(turn.node);
  turn.node.scrollIntoView({ block: "start", behavior: calm() });
  state.running = new AbortController();
  send.textContent = t.stop;
  try {
    for await (const part of ask(body, { sessionId: state.sessionId, key, signal: state.running.signal })) turn.take(part);
    if (turn.answer) keep(turn, question);
    else throw turn.problem ?? new Problem("lost", "");
  } catch (error) {
    const again = () => {
      turn.node.remove();
      submit(question, key, body);
    };
    turn.fail(error.name === "AbortError" ? new Problem("aborted", "") : error, again);
  } finally {
    state.running = null;
    send.textContent = t.ask;
  }
}

function keep(turn, question) {
  state.selection = null;
  fill(about);
  if (state.sessionId !== turn.answer.sessionId) {
    state.sessionId = turn.answer.sessionId;
    keepTitle(state.sessionId, question);
    history.replaceState(null, "", `#${state.sessionId}`);
  }
  sessions.current = state.sessionId;
  sessions.load();
}

const calm = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth");

async function startNew() {
  state.running?.abort();
  state.sessionId = null;
  history.replaceState(null, "", location.pathname + location.search);
  sessions.mark(null);
  const greeting = el("section", { class: "welcome" }, el("h2", {}, t.welcome));
  fill(turns, greeting);
  field.focus();
  greeting.append(...(await welcome(settings.kbId, (question) => submit(question))));
}

async function openSession(sessionId) {
  state.running?.abort();
  document.body.classList.remove("with-sidebar");
  try {
    const shown = await readTurns(sessionId);
    state.sessionId = sessionId;
    history.replaceState(null, "", `#${sessionId}`);
    sessions.mark(sessionId);
    fill(turns, shown.map((turn) => turn.node));
    shown.at(-1)?.node.scrollIntoView({ block: "start" });
  } catch (error) {
    fill(turns, showProblem(error, () => openSession(sessionId)));
  }
}

async function readTurns(sessionId) {
  const shown = [];
  let cursor = null;
  do {
    const page = await call("GET", `/api/sessions/${sessionId}/messages?limit=100${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
    for (const message of page.messages) {
      if (message.role === "user") shown.push(new Turn(message.content, { openSource, speak: () => {} }));
      else shown.at(-1)?.finish({ message, sources: message.metadata.sources ?? [] });
    }
    cursor = page.next_cursor;
  } while (cursor);
  return shown;
}

function pasteText() {
  showInPanel(t.pasteSelection, (body) => {
    const text = el("textarea", { rows: "12", maxlength: "100000", dir: "auto", "aria-label": t.pasteSelection });
    const use = button(t.askSelection, () => {
      if (!text.value.trim()) return;
      closePanel();
      selectText(text.value);
    }, { class: "primary" });
    fill(body, text, use);
    text.focus();
  });
}

function build() {
  const form = el(
    "form",
    { class: "ask" },
    about,
    el("div", { class: "line" }, field, button("¶", pasteText, { class: "icon", "aria-label": t.pasteSelection, title: t.pasteSelection }), send),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (state.running) return state.running.abort();
    const question = field.value.trim();
    if (!question) return undefined;
    field.value = "";
    return submit(question);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  fill(
    sidebar,
    button(t.newChat, () => startNew(), { class: "primary" }),
    list,
    el(
      "div",
      { class: "tools" },
      button(t.documents, () => showInPanel(t.documents, (body) => showDocuments(body, settings.kbId, openSource)), { class: "quiet" }),
      button(t.learned, () => showInPanel(t.learned, showLearned), { class: "quiet" }),
      button(t.settings, () => showInPanel(t.settings, (body) => showSettings(body, begin)), { class: "quiet" }),
    ),
  );
  const menu = button("☰", () => document.body.classList.toggle("with-sidebar"), { class: "icon menu", "aria-label": t.menu });
  const main = el("main", { "aria-label": t.conversation }, turns, log, form);
  document.body.append(
    el("a", { class: "skip", href: "#question" }, t.skip),
    el("header", { class: "top" }, menu, el("h1", {}, t.title), el("p", {}, t.tagline), showAccount()),
    el("div", { class: "columns" }, sidebar, main, panel),
  );
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !panel.hidden) passages.close();
  });
}

function begin() {
  const sessionId = location.hash.slice(1);
  sessions.load();
  if (/^[0-9A-Z]{26}$/.test(sessionId)) openSession(sessionId);
  else startNew();
}

build();
begin();
