/** The words of the page, in the language that was chosen, or else the first of the browser's that there is. */
import de from "./texts-de.js";
import en from "./texts-en.js";

const LANGUAGES = { en, de };
const STORED = "gleaner.language";

function choose() {
  const stored = localStorage.getItem(STORED);
  const wanted = [stored, ...navigator.languages].map((tag) => (tag ?? "").slice(0, 2).toLowerCase());
  return wanted.find((tag) => tag in LANGUAGES) ?? "en";
}

export const language = choose();
export const t = LANGUAGES[language];
export const languages = Object.entries(LANGUAGES).map(([tag, texts]) => [tag, texts.name]);

/** Shows the page in another language from now on. */
export function setLanguage(tag) {
  localStorage.setItem(STORED, tag);
  location.reload();
}

/** A time as people read it. */
export function showTime(iso) {
  return iso ? new Date(iso).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" }) : "";
}
