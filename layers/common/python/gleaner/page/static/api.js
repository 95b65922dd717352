/** Calls the API of the service that serves this page. */

import { base } from "./config.js";
import { credentials, reject } from "./credentials.js";
import { Problem } from "./problem.js";

export { Problem };

async function send(method, path, { headers, ...options }) {
  const signed = { ...(await credentials()), ...headers };
  let response;
  try {
    response = await fetch(base + path, { method, cache: "no-store", headers: signed, ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("lost", error.message);
  }
  if (response.status === 401) reject();
  if (!response.ok) throw await Problem.of(response);
  return response;
}

/** The JSON of a response; null if it has none. Throws Problem. */
export async function call(method, path, body) {
  const options = body ? { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {};
  return read(await send(method, path, options));
}

/** The parameters of a request about a knowledge base. */
export function inBase(kbId, more = {}) {
  const query = new URLSearchParams({ ...(kbId ? { kb_id: kbId } : {}), ...more }).toString();
  return query ? `?${query}` : "";
}

/** Send a file by a form that the service has made for it. Throws Problem. */
export async function sendForm({ url, fields }, file) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append("file", file); // the last: what follows it is not read
  let response;
  try {
    response = await fetch(url, { method: "POST", body: form, credentials: "omit" });
  } catch (error) {
    throw new Problem("lost", error.message);
  }
  if (!response.ok) throw new Problem(await reasonOf(response), `HTTP ${response.status}`);
}

/** Why the storage refuses a form, from the code of its error (docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html). */
async function reasonOf(response) {
  const code = (await response.text().catch(() => "")).match(/<Code>(\w+)<\/Code>/)?.[1];
  return { EntityTooLarge: "payload-too-large", EntityTooSmall: "empty-file" }[code] ?? "upload-refused";
}

async function read(response) {
  return response.status === 204 ? null : response.json();
}

/** The parts of the stream that answers a question, as they come. Throws Problem, or AbortError when it is stopped. */
export async function* ask(question, { sessionId, key, signal }) {
  const path = sessionId ? `/api/sessions/${sessionId}/chat/stream` : "/api/chat/stream";
  const response = await send("POST", path, {
    signal,
    headers: { "Content-Type": "application/json", "Idempotency-Key": key },
    body: JSON.stringify(question),
  });
  let isDone = false;
  for await (const data of readEvents(response.body)) {
    if (data === "[DONE]") isDone = true;
    else yield JSON.parse(data);
  }
  if (!isDone) throw new Problem("lost", "The stream ended early.");
}

async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let chunk;
    try {
      chunk = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem("lost", error.message);
    }
    if (chunk.done) return;
    const events = (rest + chunk.value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const lines = event.split("\n").filter((line) => line.startsWith("data:"));
      if (lines.length) yield lines.map((line) => line.slice(5).trim()).join("\n");
    }
  }
}
