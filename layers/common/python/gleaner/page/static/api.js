/** Calls the API of the service that serves this page. */

const base = document.body.dataset.base;
const KEY = "gleaner.key"; // in the session storage: it goes with the tab

/** A request that was answered with a problem document, or not at all. */
export class Problem extends Error {
  constructor(kind, detail, retryAfter = null) {
    super(detail);
    this.kind = kind;
    this.retryAfter = retryAfter;
  }

  static async of(response) {
    let document = {};
    try {
      document = await response.json();
    } catch {
      // A gateway may answer with a page.
    }
    const kind = String(document.type ?? "").split(":").pop() || `http-${response.status}`;
    return new Problem(kind, document.detail ?? `HTTP ${response.status}`, response.headers.get("Retry-After"));
  }
}

export const apiKey = () => sessionStorage.getItem(KEY) ?? "";

export function setApiKey(key) {
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
}

function headers(more = {}) {
  const key = apiKey();
  // A token of three parts is one of a user pool; anything else is an API key.
  const signed = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(key) ? { Authorization: `Bearer ${key}` } : { "x-api-key": key };
  return { ...(key ? signed : {}), ...more };
}

async function send(method, path, options) {
  try {
    return await fetch(base + path, { method, cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("lost", error.message);
  }
}

/** The JSON of a response; null if it has none. Throws Problem. */
export async function call(method, path, body) {
  const options = { headers: headers(body ? { "Content-Type": "application/json" } : {}) };
  return read(await send(method, path, body ? { ...options, body: JSON.stringify(body) } : options));
}

/** Where this service takes documents; null where it takes none. */
export const uploadPath = document.body.dataset.uploads || null;

/** Send a file to be loaded into a knowledge base; what became of it. Throws Problem. */
export async function upload(file, kbId) {
  const query = new URLSearchParams({ name: file.name, ...(kbId ? { kb_id: kbId } : {}) });
  const type = { "Content-Type": "application/octet-stream" };
  return read(await send("POST", `${uploadPath}?${query}`, { headers: headers(type), body: file }));
}

async function read(response) {
  if (!response.ok) throw await Problem.of(response);
  return response.status === 204 ? null : response.json();
}

/** The parts of the stream that answers a question, as they come. Throws Problem, or AbortError when it is stopped. */
export async function* ask(question, { sessionId, key, signal }) {
  const path = sessionId ? `/api/sessions/${sessionId}/chat/stream` : "/api/chat/stream";
  const response = await send("POST", path, {
    signal,
    headers: headers({ "Content-Type": "application/json", "Idempotency-Key": key }),
    body: JSON.stringify(question),
  });
  if (!response.ok) throw await Problem.of(response);
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
