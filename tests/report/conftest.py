"""A browser for the session, and pages written by the library."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("BITSWEEP_CHROMIUM", "/usr/bin/chromium")
DEMO = os.environ.get("BITSWEEP_REPORT_DEMO")
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


def run_demo(path, document):
    results = path.with_suffix(".json")
    results.write_text(json.dumps(document))
    subprocess.run([DEMO, results, path], check=True)


def write_with_demo(path, scores, higher_is_worse, details, details_label):
    """Writes a page with bitsweep_report_demo."""
    rows = [
        {"rank": 0, "name": n, "score": s if abs(s) < 1e300 else str(s)} for n, s in scores.items()
    ]
    for row in rows:
        if details and row["name"] in details:
            row["detail"] = details[row["name"]]
    run_demo(
        path,
        {
            "title": "Quantization Sensitivity (SQNR)",
            "metric": "SQNR",
            "better": "lower" if higher_is_worse else "higher",
            "details_label": details_label,
            "ranking": rows,
        },
    )


def write_with_package(path, scores, higher_is_worse, details, details_label):
    """Writes a page through the Python API."""
    analysis = pytest.importorskip(
        "bitsweep.analysis", reason="needs the package or BITSWEEP_REPORT_DEMO"
    )
    metric = analysis.SensitivityMetric(
        "SQNR", lambda session: 0.0, higher_is_worse=higher_is_worse
    )
    analysis.save_sensitivity_plot(
        scores, metric, path, details=details, details_label=details_label
    )


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


def write_ranges_with_package(path, entries):
    """Writes a page of ranges through the Python module."""
    core = pytest.importorskip("bitsweep._core", reason="needs the package or BITSWEEP_REPORT_DEMO")
    core.write_ranges_page(path, title="Ranges", kind="activation", entries=entries)


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens a page that `write(path)` makes in a browser window of its own."""
    contexts = []

    def open_page(write, *, size=(1280, 800), theme="light"):
        path = tmp_path / f"report{len(contexts)}.html"
        write(path)
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
    """Writes scores as a page and opens it.

    BITSWEEP_REPORT_DEMO names the program bitsweep_report_demo: the tests then need no Python package.
    """

    def open_report(scores, *, higher_is_worse=False, details=None, details_label="", **window):
        def write(path):
            if DEMO:
                write_with_demo(path, scores, higher_is_worse, details, details_label)
            else:
                write_with_package(path, scores, higher_is_worse, details, details_label)

        return open_page(write, **window)

    return open_report


@pytest.fixture
def open_ranges(open_page):
    """Writes (name, min, max) entries as a page of ranges and opens it."""

    def open_ranges(entries, **window):
        def write(path):
            if DEMO:
                ranges = [{"name": n, "min": low, "max": high} for n, low, high in entries]
                run_demo(path, {"title": "Ranges", "kind": "activation", "ranges": ranges})
            else:
                write_ranges_with_package(path, entries)

        return open_page(write, **window)

    return open_ranges
