/** The way in: what somebody sees who has not signed in, and the way out again. */
import { signIn } from "./config.js";
import { apiKey, cognito, isSignedIn, setApiKey } from "./credentials.js";
import { button, el } from "./dom.js";
import { showProblem } from "./problems.js";
import { language, t } from "./texts.js";

/** Opens the page, or the invitation to sign in. */
export async function enter(open) {
  const problem = cognito ? await finish() : null;
  if (isSignedIn()) return open();
  const way = cognito
    ? [signInButton(), el("p", { class: "hint" }, t.signInHint)]
    : keyForm(() => {
        if (!isSignedIn()) return;
        document.body.replaceChildren();
        open();
      });
  document.documentElement.lang = language;
  document.body.append(
    el("header", { class: "top" }, el("h1", {}, t.title), el("p", {}, t.tagline)),
    el("main", { class: "invitation" }, el("h2", {}, t.signInTitle), problem && showProblem(problem), way),
  );
  return document.querySelector("main input, main button").focus();
}

/** The problem of a sign-in from whose page the browser came back; null if there is none. */
async function finish() {
  try {
    await cognito.finish();
    return null;
  } catch (error) {
    return error;
  }
}

const signInButton = () => button(t.signIn, () => cognito.begin(), { class: "primary" });

function keyForm(done) {
  const key = el("input", { id: "key", type: "password", autocomplete: "off", value: apiKey() });
  const hint = el("p", { class: "hint" }, t.apiKeyHint);
  const form = el("form", { class: "settings" }, el("label", { for: "key" }, t.apiKey), key, hint, el("button", { type: "submit" }, t.useKey));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    setApiKey(key.value.trim());
    done();
  });
  return form;
}

/** The part of the settings about credentials; `changed` is called with another API key. */
export function showCredentials(changed) {
  if (!cognito) return keyForm(changed);
  return isSignedIn() ? el("p", {}, cognito.userName()) : signInButton();
}

/** Who is signed in, with the way out; nothing where nobody signs in. */
export function showAccount() {
  if (signIn.kind === "none") return null;
  const name = cognito && el("span", { class: "hint", dir: "auto" }, cognito.userName());
  return el("div", { class: "account" }, name, button(t.signOut, leave));
}

async function leave() {
  if (cognito) return cognito.signOut();
  setApiKey("");
  history.replaceState(null, "", location.pathname);
  return location.reload();
}
