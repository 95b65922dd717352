/** The credentials of this tab: none on one machine, an API key, or the tokens of a user. */
import { signIn } from "./config.js";
import { tab } from "./storage.js";

const KEY = "gleaner.key";

/** Signs in at a user pool; null where nobody does. */
export const cognito = signIn.kind === "cognito" ? await import("./cognito.js") : null;

export const apiKey = () => tab.read(KEY) ?? "";

export function setApiKey(key) {
  if (key) tab.write(KEY, key);
  else tab.remove(KEY);
}

/** Whether requests can be sent: there are credentials, or none are needed. */
export const isSignedIn = () => signIn.kind === "none" || (cognito ? cognito.isSignedIn() : apiKey() !== "");

/** The headers that say who asks. Throws Problem. */
export async function credentials() {
  if (cognito) return cognito.headers();
  return apiKey() ? { "x-api-key": apiKey() } : {};
}

/** Forget a token that the service does not accept. */
export function reject() {
  if (cognito) cognito.forget();
}
