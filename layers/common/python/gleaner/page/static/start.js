/**
 * Loads the page: its files a few at a time, then the way in, then the page itself.
 *
 * A browser asks for all modules at once, each request may start an instance of a function, and a new account of AWS
 * may run ten. The modules find what is fetched here in the browser's cache.
 */
const MAX_AT_ONCE = 4;
const MAX_TRIES = 4;
const PAUSE_MS = 300; // before the second try; it doubles

async function load(name) {
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(new URL(name, import.meta.url));
    if (response.ok) {
      await response.arrayBuffer(); // only a response that was read is cached
      return;
    }
    if (tries === MAX_TRIES) throw new Error(`${name}: HTTP ${response.status}`);
    await new Promise((resume) => setTimeout(resume, PAUSE_MS * 2 ** (tries - 1)));
  }
}

async function loadAll(names) {
  const loadNext = async () => {
    while (names.length) await load(names.shift());
  };
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, loadNext));
}

try {
  await loadAll(document.body.dataset.scripts.split(" "));
  const { enter } = await import("./sign-in.js");
  await enter(() => import("./app.js"));
} catch (error) {
  const texts = await import("./texts.js").catch(() => null); // which may be what was not loaded
  document.body.append(texts?.t.notLoaded ?? "The page could not be loaded. Reload it in a moment.");
  throw error;
}
