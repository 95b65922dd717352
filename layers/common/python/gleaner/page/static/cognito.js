/** Signs in at a Cognito user pool: OAuth's code with PKCE (RFC 7636), state, OpenID Connect's nonce. Tokens go with the tab. */
import { base, signIn } from "./config.js";
import { Problem } from "./problem.js";

const TOKENS = "gleaner.tokens";
const PENDING = "gleaner.sign-in"; // what the answer of the sign-in pages must fit
const SPARE_MS = 60_000; // a token is renewed this long before it expires
const ENCODED = { "Content-Type": "application/x-www-form-urlencoded" };

const pageUrl = () => `${location.origin}${base}/`; // exactly one of the client's callback and sign-out addresses
const toForm = (fields) => new URLSearchParams({ client_id: signIn.clientId, ...fields }).toString();
const poolPage = (path, fields) => `${signIn.poolUrl}${path}?${toForm(fields)}`;
const stored = () => JSON.parse(sessionStorage.getItem(TOKENS));

let renewal = null; // the one that is in flight

/** Leaves for the sign-in page. It comes back to this page, where `finish` takes its answer. */
export async function begin() {
  const pending = { state: random(), nonce: random(), verifier: random(), hash: location.hash };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier));
  location.assign(
    poolPage("/oauth2/authorize", {
      response_type: "code",
      redirect_uri: pageUrl(),
      scope: "openid email",
      state: pending.state,
      nonce: pending.nonce,
      code_challenge_method: "S256",
      code_challenge: toBase64Url(new Uint8Array(digest)),
    }),
  );
}

/** Takes the answer of the sign-in page out of the address, if there is one. Throws Problem. */
export async function finish() {
  const answer = new URLSearchParams(location.search);
  if (!answer.has("code") && !answer.has("error")) return;
  const pending = JSON.parse(sessionStorage.getItem(PENDING));
  sessionStorage.removeItem(PENDING);
  // First of all: a code stays neither in the address nor in the history.
  history.replaceState(null, "", location.pathname + (pending?.hash ?? ""));
  if (!pending) return; // an old address that was opened again
  if (answer.get("state") !== pending.state || !answer.has("code")) throw new Problem("sign-in-failed", "");
  const tokens = await exchange({
    grant_type: "authorization_code",
    code: answer.get("code"),
    redirect_uri: pageUrl(),
    code_verifier: pending.verifier,
  });
  // The token comes from the pool itself over TLS, so its claims need no signature (OpenID Connect Core, 3.1.3.7).
  const claims = claimsOf(tokens.id_token);
  if (claims.nonce !== pending.nonce || claims.aud !== signIn.clientId) throw new Problem("sign-in-failed", "");
  keep(tokens, tokens.refresh_token);
}

export const isSignedIn = () => stored() !== null;

/** The name that the user signed in with. */
export const userName = () => claimsOf(stored().id).email ?? "";

/** The headers of a request of this user. Throws Problem if there is none any more. */
export async function headers() {
  const tokens = stored();
  if (!tokens) throw new Problem("unauthorized", "");
  if (Date.now() < tokens.renewAt) return { Authorization: `Bearer ${tokens.id}` };
  renewal ??= renew(tokens.refresh).finally(() => {
    renewal = null;
  });
  return { Authorization: `Bearer ${await renewal}` };
}

/** Forget a token that is not accepted any more. */
export const forget = () => sessionStorage.removeItem(TOKENS);

/** Ends the session here, at the token endpoint and at the sign-in page. */
export async function signOut() {
  const { refresh } = stored();
  forget();
  try {
    // Nobody reads the response, and the page is left.
    const request = { method: "POST", mode: "no-cors", keepalive: true, headers: ENCODED };
    await fetch(`${signIn.poolUrl}/oauth2/revoke`, { ...request, body: toForm({ token: refresh }) });
  } finally {
    location.assign(poolPage("/logout", { logout_uri: pageUrl() }));
  }
}

async function renew(refresh) {
  const tokens = await exchange({ grant_type: "refresh_token", refresh_token: refresh });
  keep(tokens, tokens.refresh_token ?? refresh); // a new one comes only where refresh tokens are rotated
  return tokens.id_token;
}

async function exchange(fields) {
  const request = { method: "POST", cache: "no-store", credentials: "omit", headers: ENCODED, body: toForm(fields) };
  let response;
  try {
    response = await fetch(`${signIn.poolUrl}/oauth2/token`, request);
  } catch {
    throw new Problem("sign-in-unavailable", "");
  }
  if (response.ok) return response.json();
  if (response.status === 429 || response.status >= 500) throw new Problem("sign-in-unavailable", "");
  forget();
  throw new Problem(fields.grant_type === "refresh_token" ? "unauthorized" : "sign-in-failed", "");
}

function keep(tokens, refresh) {
  const { iat, exp } = claimsOf(tokens.id_token);
  const renewAt = Date.now() + (exp - iat) * 1000 - SPARE_MS; // by this machine's clock, which may be wrong
  sessionStorage.setItem(TOKENS, JSON.stringify({ id: tokens.id_token, refresh, renewAt }));
}

function claimsOf(token) {
  const payload = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(payload), (letter) => letter.charCodeAt(0))));
}

/** 256 random bits in 43 letters, as PKCE wants its verifier. */
const random = () => toBase64Url(crypto.getRandomValues(new Uint8Array(32)));

function toBase64Url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
