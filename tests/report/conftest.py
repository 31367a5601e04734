"""A browser for the session, and pages written by the library."""

import json
import math
import os
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("BITSWEEP_CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def demo_program():
    """The newest bitsweep_report_demo of the build trees, or the one that BITSWEEP_REPORT_DEMO names."""
    named = os.environ.get("BITSWEEP_REPORT_DEMO")
    if named:
        return Path(named)
    root = Path(__file__).resolve().parents[2]
    built = sorted(
        root.glob("build/*/src/report/bitsweep_report_demo"), key=lambda path: path.stat().st_mtime
    )
    if not built:
        pytest.skip("needs the C++ build: cmake --preset release && cmake --build --preset release")
    return built[-1]


def write_page(path, document):
    """Writes the page of a results file."""
    results = path.with_suffix(".json")
    results.write_text(json.dumps(document))
    subprocess.run([demo_program(), results, path], check=True)


class Report:
    """A page in the browser, with what it logged and what it asked the network for."""

    def __init__(self, page, path):
        self.page = page
        self.messages = []
        self.requests = []
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        self.url = Path(path).as_uri()
        page.goto(self.url)
        page.wait_for_selector("canvas")

    def rows(self):
        """The table as lists of texts."""
        return self.page.eval_on_selector_all(
            "tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
        )

    def names(self):
        return [row[1] for row in self.rows()]

    def center(self, selector):
        box = self.page.locator(selector).bounding_box()
        assert box is not None, f"{selector} is not shown"
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def point(self, index):
        """Where the point of an entry stands: the arrow keys walk there, the ring marks it."""
        plot = self.page.locator(".plot")
        plot.focus()
        self.page.keyboard.press("Home")
        for _ in range(index):
            self.page.keyboard.press("ArrowRight")
        place = self.center(".ring")
        self.page.keyboard.press("Escape")
        self.page.evaluate("document.activeElement.blur()")
        return place

    def color(self, place):
        """The canvas's colour at a place of the page, as (red, green, blue)."""
        return tuple(
            self.page.evaluate(
                """([x, y]) => {
                    const canvas = document.querySelector('canvas');
                    const box = canvas.getBoundingClientRect();
                    const ratio = canvas.width / box.width;
                    const at = [(x - box.left) * ratio, (y - box.top) * ratio];
                    return [...canvas.getContext('2d').getImageData(...at, 1, 1).data].slice(0, 3);
                }""",
                list(place),
            )
        )


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens a page, that of a results file or a written one, in a browser window of its own."""
    contexts = []

    def open_page(document=None, *, path=None, size=(1280, 800), theme="light"):
        if document is not None:
            path = tmp_path / f"report{len(contexts)}.html"
            write_page(path, document)
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=theme,
            accept_downloads=True,
        )
        contexts.append(context)
        return Report(context.new_page(), path)

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def open_report(open_page):
    """Opens the sensitivity page of {name: score}."""

    def open_report(scores, *, higher_is_worse=False, details=None, details_label="", **window):
        document = {
            "title": "Quantization Sensitivity (SQNR)",
            "metric": "SQNR",
            "better": "lower" if higher_is_worse else "higher",
            "details_label": details_label,
            "ranking": [
                {"name": name, "score": score if math.isfinite(score) else str(score)}
                | ({"detail": details[name]} if details and name in details else {})
                for name, score in scores.items()
            ],
        }
        return open_page(document, **window)

    return open_report


@pytest.fixture
def open_ranges(open_page):
    """Opens the page of ranges of (name, min, max) entries."""

    def open_ranges(entries, **window):
        ranges = [{"name": name, "min": low, "max": high} for name, low, high in entries]
        return open_page({"title": "Ranges", "kind": "activation", "ranges": ranges}, **window)

    return open_ranges
