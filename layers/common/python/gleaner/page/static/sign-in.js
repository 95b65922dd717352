/** What somebody sees who has not signed in, and the way out again. */
import * as cognito from "./cognito.js";
import { signIn } from "./config.js";
import { apiKey, isSignedIn, setApiKey } from "./credentials.js";
import { button, el } from "./dom.js";
import { showProblem } from "./problems.js";
import { forgetTitles } from "./sessions.js";
import { t } from "./texts.js";

/** Completes a sign-in from whose page the browser came back. Returns a Problem if it failed. */
export async function finishSignIn() {
  if (signIn.kind !== "cognito") return null;
  try {
    await cognito.finish();
    return null;
  } catch (error) {
    return error;
  }
}

/** The invitation to sign in; `done` is called with credentials that are entered here. */
export function invite(done, problem) {
  const way = signIn.kind === "cognito" ? button(t.signIn, cognito.begin, { class: "primary" }) : keyForm(done);
  const hint = signIn.kind === "cognito" ? t.signInHint : t.apiKeyHint;
  return el("section", { class: "welcome" }, el("h2", {}, t.signInTitle), problem && showProblem(problem), way, el("p", { class: "hint" }, hint));
}

/** A field for the API key. */
export function keyForm(done) {
  const key = el("input", { id: "key", type: "password", autocomplete: "off", value: apiKey() });
  const form = el("form", { class: "settings" }, el("label", { for: "key" }, t.apiKey), key, el("button", { type: "submit" }, t.useKey));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    setApiKey(key.value.trim());
    done();
  });
  return form;
}

/** Who is signed in, with the way out; nothing where nobody signs in. */
export function showAccount() {
  if (signIn.kind === "none" || !isSignedIn()) return [];
  const name = signIn.kind === "cognito" && el("span", { class: "hint", dir: "auto" }, cognito.userName());
  return [name, button(t.signOut, leave, { class: "quiet" })];
}

async function leave() {
  forgetTitles();
  if (signIn.kind === "cognito") return cognito.signOut();
  setApiKey("");
  history.replaceState(null, "", location.pathname);
  return location.reload();
}
