/** What the reader may choose: knowledge base, grounding, language, API key. Below it stands what was used today. */
import { el, fill } from "./dom.js";
import { showCredentials } from "./sign-in.js";
import { browser } from "./storage.js";
import { language, languages, setLanguage, t } from "./texts.js";
import { showUsage } from "./usage.js";

const STORED = "gleaner.settings";

function stored() {
  try {
    return JSON.parse(browser.read(STORED) ?? "{}");
  } catch {
    return {};
  }
}

export const settings = { kbId: "", isStrict: false, isFresh: false, ...stored() };

/** Change settings, and remember them in this browser. */
export function keep(changes) {
  Object.assign(settings, changes);
  browser.write(STORED, JSON.stringify(settings));
}

/** Fill a panel with the settings; `changed` is called when another knowledge base or key is used. */
export function showSettings(node, changed) {
  const kb = el("input", { id: "kb", type: "text", value: settings.kbId, placeholder: t.defaultBase, pattern: "[a-z0-9][a-z0-9_\\-]{0,62}" });
  kb.addEventListener("change", () => {
    if (!kb.checkValidity()) return kb.reportValidity();
    keep({ kbId: kb.value });
    return changed();
  });
  const tongue = el("select", { id: "language" }, languages.map(([tag, name]) => el("option", { value: tag, selected: tag === language }, name)));
  tongue.addEventListener("change", () => setLanguage(tongue.value));
  const choices = el(
    "div",
    { class: "settings" },
    el("label", { for: "kb" }, t.knowledgeBase), kb,
    el("p", { class: "hint" }, t.knowledgeBaseHint),
    toggle("fresh", t.fresh, settings.isFresh, (isFresh) => keep({ isFresh })),
    el("label", { for: "language" }, t.language), tongue,
  );
  const used = el("section", { class: "usage", "aria-label": t.usedToday });
  const changeKey = () => {
    showUsage(used);
    return changed();
  };
  fill(node, choices, showCredentials(changeKey), used);
  showUsage(used);
}

function toggle(id, label, isOn, change) {
  const box = el("input", { type: "checkbox", id, checked: isOn });
  box.addEventListener("change", () => change(box.checked));
  return el("p", { class: "toggle" }, box, el("label", { for: id }, label));
}
