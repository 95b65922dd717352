/** The credentials of this tab: none on one machine, an API key, or the tokens of a user. */
import * as cognito from "./cognito.js";
import { signIn } from "./config.js";

const KEY = "gleaner.key"; // in the session storage: it goes with the tab
const isCognito = signIn.kind === "cognito";

export const apiKey = () => sessionStorage.getItem(KEY) ?? "";

export function setApiKey(key) {
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
}

/** Whether requests can be sent: there are credentials, or none are needed. */
export const isSignedIn = () => signIn.kind === "none" || (isCognito ? cognito.isSignedIn() : apiKey() !== "");

/** The headers that say who asks. Throws Problem. */
export async function credentials() {
  if (isCognito) return cognito.headers();
  return apiKey() ? { "x-api-key": apiKey() } : {};
}

/** Forget a token that the service does not accept. */
export function reject() {
  if (isCognito) cognito.forget();
}
