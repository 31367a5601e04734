"""The page of quantizer ranges in a real browser."""

import re

import pytest

ENTRIES = [
    ("conv1.out", -2.0, 3.0),
    ("wide.out", -7e4, 8e4),
    ("high.out", -1.0, 6e4),
    ("low.out", -5.5e4, 1e-4),
    ("beyond.out", -3.0, 2.5e5),
]
TAME = [(f"layer.{i}.out", -1.0 - i, 2.0 + i) for i in range(12)]


def names(report):
    return [row[2] for row in report.rows()]


def show(report, view):
    report.page.locator(".views").get_by_role("button", name=view, exact=True).click()


def test_the_page_asks_for_nothing_and_logs_nothing(open_ranges):
    report = open_ranges(ENTRIES)
    report.page.click("td.check input >> nth=0")
    report.page.fill("#threshold-1", "1")
    report.page.click("#theme")
    report.page.wait_for_timeout(200)
    assert report.requests == [report.url]
    assert report.messages == []


def test_the_first_view_lists_what_is_beyond_either_threshold(open_ranges):
    report = open_ranges(ENTRIES)
    assert names(report) == ["wide.out", "high.out", "low.out", "beyond.out"]
    assert report.rows()[0][1:] == ["2", "wide.out", "-7.000e+4", "8.000e+4"]
    assert "4 of 5 activations" in report.page.inner_text("#status")


def test_the_first_view_lists_all_when_nothing_is_beyond(open_ranges):
    assert len(open_ranges(TAME).rows()) == 12


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("All", [name for name, _, _ in ENTRIES]),
        ("Min", ["wide.out", "low.out"]),
        ("Max", ["wide.out", "high.out", "beyond.out"]),
        ("Min & Max", ["wide.out"]),
    ],
)
def test_views_choose_the_side(open_ranges, view, expected):
    report = open_ranges(ENTRIES)
    show(report, view)
    assert names(report) == expected


def test_thresholds_can_be_typed_and_dragged(open_ranges):
    report = open_ranges(TAME)
    show(report, "Max")
    assert names(report) == []
    report.page.fill("#threshold-1", "10")
    assert names(report) == ["layer.9.out", "layer.10.out", "layer.11.out"]
    grip = ".guide .grip >> nth=1"
    x, y = report.center(grip)
    report.page.mouse.move(x, y)
    report.page.mouse.down()
    report.page.mouse.move(x, y + 10)
    report.page.mouse.move(x, y + 40)
    report.page.mouse.up()
    value = float(report.page.input_value("#threshold-1"))
    assert value < 9
    assert names(report) == [name for name, _, high in TAME if high > value]


def test_half_a_number_is_no_threshold(open_ranges):
    report = open_ranges(TAME)
    report.page.fill("#threshold-0", "")
    assert not report.page.evaluate("document.querySelector('#threshold-0').checkValidity()")
    assert len(report.rows()) == 12


def test_values_beyond_the_display_limits_are_drawn_at_them(open_ranges):
    report = open_ranges(ENTRIES)
    limit = ".guide.solid .line >> nth=1"
    for value in ("100000", "200000"):
        report.page.fill("#limit-1", value)
        assert report.point(4)[1] == pytest.approx(report.center(limit)[1], abs=1.5)
    report.page.fill("#limit-1", "300000")
    assert (
        report.page.locator(limit).is_hidden() or report.point(4)[1] > report.center(limit)[1] + 5
    )


def test_the_name_filter_narrows_the_table(open_ranges):
    report = open_ranges(ENTRIES)
    report.page.fill("#filter", "i")
    assert names(report) == ["wide.out", "high.out"]
    report.page.fill("#filter", "nothing")
    assert "“All” lists every one" in report.page.inner_text(".empty")


def test_marks_and_reset(open_ranges):
    report = open_ranges(ENTRIES)
    # Between the ends of the marked range, beside the lines of the series.
    x, top = report.point(1)
    middle = (x, top + 40)
    before = report.color(middle)
    report.page.click("td.check input >> nth=0")
    assert report.color(middle) == (218, 165, 32)  # goldenrod
    report.page.fill("#threshold-1", "1")
    report.page.click("text=Reset >> nth=0")
    assert report.color(middle) == before
    assert report.page.input_value("#threshold-1") == "50000"
    assert names(report) == ["wide.out", "high.out", "low.out", "beyond.out"]


def test_hover_shows_both_ends_with_readable_numbers(open_ranges):
    report = open_ranges(ENTRIES)
    report.page.mouse.move(*report.point(3))
    card = report.page.inner_text(".card-hover")
    assert "low.out" in card
    assert re.search(r"Max\s+1.00e-4", card)
    assert re.search(r"Min\s+-55000.000", card)


def test_the_rows_sort_by_every_column(open_ranges):
    report = open_ranges(ENTRIES)
    show(report, "All")
    report.page.click("th >> nth=4 >> button")
    assert names(report)[0] == "low.out"
    report.page.click("th >> nth=4 >> button")
    assert names(report)[0] == "beyond.out"
