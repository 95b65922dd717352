"""Measures the page in a browser: its size, when one can type, and when the first words of an answer are on screen.

    .venv/bin/python benchmarks/page.py [--visits 10] [--questions 10]

A real `gleaner serve` asks a scripted model, which writes 50 pieces of four characters a second, as a model of 50
tokens does. Chromium visits the page with an empty cache: the first visit meets a service that has answered nothing
yet. The first words are timed inside the browser: from the moment at which the page has read the first event, and the
first words, to the first frame after they were put on the page.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gleaner_local.servers.asgi import AsgiServer
from harness.own_environment import positive
from harness.own_service import scripted_service
from streaming import ANSWER, PIECES_PER_SECOND, QUESTION, play
from tests.doubles.scripted_model import ScriptedModel

MAX_BYTES, MAX_READY, MAX_WORDS = 153_000, 1.0, 0.3  # of the whole page; seconds
MS = 1000
# The page reads each event with JSON.parse.
CLOCK = """
const parse = JSON.parse;
const clock = (window.clock = {});
JSON.parse = (text) => {
  const part = parse(text);
  if (part?.type === "start") clock.event = performance.now();
  if (part?.type === "text-delta") clock.words ??= performance.now();
  return part;
};
addEventListener("DOMContentLoaded", () => {
  new MutationObserver(() => {
    const shown = [...document.querySelectorAll(".content")].at(-1)?.textContent;
    if (shown && clock.words && !clock.seen) {
      clock.seen = -1;
      requestAnimationFrame(() => setTimeout(() => (clock.seen = performance.now())));
    }
  }).observe(document.body, { childList: true, subtree: true });
});
"""


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--visits", type=positive, default=10)
    parser.add_argument("--questions", type=positive, default=10)
    options = parser.parse_args()
    path = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    if path is None:
        raise SystemExit("No Chromium is installed. On Debian: apt-get install chromium")
    model = ScriptedModel()
    server = AsgiServer(model.app)
    server.start()
    with scripted_service(f"{server.url}/v1", server.url) as (url, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, Chromium {browser.version}")
        show_visits(browser, url, options.visits)
        show_words(browser, url, model, options.questions)
        browser.close()
    server.stop()


def show_visits(browser: Browser, url: str, visits: int) -> None:
    """Print the size of the page, and the time from the address to a field that has the focus."""
    times, size = [], 0
    for _ in range(visits):
        context = browser.new_context()
        page = context.new_page()
        start = time.perf_counter()
        page.goto(url, wait_until="commit")
        page.locator("#question:focus").wait_for()
        times.append(time.perf_counter() - start)
        page.locator(".welcome .load").first.wait_for()
        size = page.evaluate(
            """() => performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation"))
              .filter((one) => one.transferSize && !one.name.includes("/api/")) // not what came from the cache
              .reduce((sum, one) => sum + one.encodedBodySize, 0)"""
        )
        context.close()
    print(f"a visit loads {size:,} bytes of the page (bar: {MAX_BYTES:,})")
    show("first visit of a new service until one can type", times[:1], MAX_READY)
    show("later visits until one can type", times[1:] or times, MAX_READY)


def show_words(browser: Browser, url: str, model: ScriptedModel, questions: int) -> None:
    """Print when the first words of an answer are on screen."""
    play(model, seconds=1 / PIECES_PER_SECOND)
    from_event, from_words = [], []
    context = browser.new_context()
    context.add_init_script(CLOCK)
    for _ in range(questions):
        page = context.new_page()
        page.goto(url)
        event, words, seen = ask(page)
        from_event.append((seen - event) / MS)
        from_words.append((seen - words) / MS)
        page.close()
    show("from the first event to words on screen, searches and model included", from_event, None)
    show("from words in the browser to words on screen", from_words, MAX_WORDS)


def ask(page: Page) -> tuple[float, float, float]:
    """Milliseconds of the page's clock: the first event, the first words, and the words on screen."""
    page.locator("#question").fill(QUESTION["query"])
    page.keyboard.press("Enter")
    page.locator(".sources li").first.wait_for()
    assert ANSWER.split(".")[0] in page.locator(".content").inner_text()
    clock = page.evaluate("window.clock")
    return clock["event"], clock["words"], clock["seen"]


def show(what: str, seconds: list[float], bar: float | None) -> None:
    """Print the median and the longest of some times."""
    bound = f" (bar: {bar * MS:.0f} ms)" if bar else ""
    print(f"{what}: median {statistics.median(seconds) * MS:.0f} ms, longest {max(seconds) * MS:.0f} ms{bound}")


if __name__ == "__main__":
    main()
