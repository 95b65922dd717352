/** The words of the page, in the language that was chosen, or else the first of the browser's that there is. */
import { browser } from "./storage.js";

const LANGUAGES = { en: "English", de: "Deutsch" }; // each has a file of texts, which is loaded where it is shown
const STORED = "gleaner.language";

function choose() {
  const stored = browser.read(STORED);
  const wanted = [stored, ...navigator.languages].map((tag) => (tag ?? "").slice(0, 2).toLowerCase());
  return wanted.find((tag) => tag in LANGUAGES) ?? "en";
}

export const language = choose();
export const { default: t } = await import(`./texts-${language}.js`);
export const languages = Object.entries(LANGUAGES);

/** Shows the page in another language from now on. */
export function setLanguage(tag) {
  browser.write(STORED, tag);
  location.reload();
}

// Dates and numbers as the reader's region writes them, if it has the language of the page.
const region = navigator.languages.find((tag) => tag.toLowerCase().startsWith(language)) ?? language;

/** A time as people read it, without the year if it is this one. */
export function showTime(iso) {
  if (!iso) return "";
  const time = new Date(iso);
  const year = time.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
  return time.toLocaleString(region, { year, month: "short", day: "numeric", hour: "numeric", minute: "2-digit" });
}

/** A number as people read it. */
export const number = (value, options = {}) => Number(value).toLocaleString(region, options);
