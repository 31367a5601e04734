"""The sensitivity page in a real browser: what a reader sees, hovers, drags and sorts."""

import csv
import io
import math
import re
from pathlib import Path

import pytest

# 24 entries, so that the table of the 20 most sensitive leaves some out; b.q_proj is the worst, Q_PROJ only looks like it.
SCORES = {f"layer.{i}.act": 40.0 + i for i in range(20)} | {
    "a.q_proj.weight": 30.0,
    "b.q_proj.weight": -12.5,
    "c.k_proj.weight": 25.0,
    "Q_PROJ.weight": 35.0,
}
NAMES = list(SCORES)
HIT = (214, 39, 40)  # #d62728


def ranked(higher_is_worse=False):
    return sorted(SCORES, key=SCORES.get, reverse=higher_is_worse)


def test_the_page_asks_for_nothing_and_logs_nothing(open_report):
    report = open_report(SCORES)
    report.page.fill("#threshold", "30")
    report.page.click("[data-pattern=q_proj]")
    report.page.mouse.move(*report.point(3))
    report.page.click("#theme")
    report.page.wait_for_timeout(200)
    assert report.requests == [report.url]
    assert report.messages == []


def test_hostile_names_are_shown_as_text(open_report):
    name = "</script><script>document.title='x'</script><img src=x onerror=alert(1)>\u2028"
    report = open_report({name: 1.0, "b": 2.0})
    assert report.names() == [name, "b"]
    assert report.page.title() == "Quantization Sensitivity (SQNR)"
    assert report.requests == [report.url]
    assert report.messages == []


def test_hover_shows_rank_name_details_and_four_decimals(open_report):
    report = open_report(SCORES, details={"b.q_proj.weight": "int8"}, details_label="Format")
    x, y = report.point(NAMES.index("b.q_proj.weight"))
    assert report.page.locator(".card-hover").is_hidden()
    report.page.mouse.move(x + 3, y - 4)
    card = report.page.inner_text(".card-hover")
    assert "b.q_proj.weight" in card
    assert re.search(r"Rank\s+1 of 24", card)
    assert re.search(r"SQNR\s+-12\.5000", card)
    assert re.search(r"Format\s+int8", card)


def test_intervals_are_drawn_and_listed(open_page):
    rows = [
        {"name": "a", "score": 10.0, "interval": [5.0, 15.0]},
        {"name": "b", "score": 20.0, "interval": [19.0, "Infinity"]},
    ]
    report = open_page({"metric": "SQNR", "ranking": rows})
    assert report.rows() == [
        ["1", "a", "5.0000 to 15.0000", "10.0000"],
        ["2", "b", "19.0000 to ∞", "20.0000"],
    ]
    x, y = report.point(0)
    blank = report.color((x + 20, y + 40))
    assert report.color((x, y + 40)) != blank  # the whisker of a, below its point
    report.page.mouse.move(x, y)
    assert "5.0000 to 15.0000" in report.page.inner_text(".card-hover")


def test_tied_neighbours_are_marked_and_explained(open_page):
    rows = [
        {"name": "a", "score": 10.0, "tied_with_next": True},
        {"name": "b", "score": 10.1},
        {"name": "c", "score": 30.0},
    ]
    report = open_page({"metric": "SQNR", "ranking": rows})
    assert [row[0] for row in report.rows()] == ["1 ≈", "2", "3"]
    assert "≈ the samples leave open" in report.page.inner_text("main")
    report.page.mouse.move(*report.point(0))
    assert "1 ≈ of 3" in report.page.inner_text(".card-hover")
    untied = open_page({"metric": "SQNR", "ranking": rows[1:]})
    assert "≈" not in untied.page.inner_text("main")


def test_what_to_know_first_stands_above_the_plot(open_page):
    rows = [{"name": "a", "score": 10.0}]
    short = {
        "sentences": ["Most sensitive: a <b>."],
        "links": {"other.html": "Other page"},
        "next": "bitsweep mix 'a b'",
    }
    report = open_page({"metric": "SQNR", "ranking": rows, **short})
    card = report.page.locator("[aria-label='In short']")
    assert card.locator("li").all_inner_texts() == ["Most sensitive: a <b>."]
    assert card.locator("a").get_attribute("href") == "other.html"
    assert card.locator("code").inner_text() == "bitsweep mix 'a b'"
    assert card.bounding_box()["y"] < report.page.locator("canvas").bounding_box()["y"]
    assert report.messages == []
    plain = open_page({"metric": "SQNR", "ranking": rows})
    assert plain.page.locator("[aria-label='In short']").count() == 0


def test_the_short_list_has_each_quantizer_once(open_page):
    rows = [{"name": f"t{i}", "score": float(i), "repeats": i in (1, 2)} for i in range(30)]
    report = open_page({"metric": "SQNR", "ranking": rows})
    assert report.names() == ["t0", *(f"t{i}" for i in range(3, 22))]
    report.page.click("#show-all")
    assert report.names() == [f"t{i}" for i in range(30)]


@pytest.mark.parametrize("width", [1400, 420])
def test_long_names_leave_the_scores_in_sight(open_page, width):
    name = ";".join(f"model_1/block/conv1d_{i}/Squeeze" for i in range(12))
    rows = [{"name": name, "score": 10.0, "detail": f"activation, tied to {name}"}]
    report = open_page({"metric": "SQNR", "details_label": "Quantizer", "ranking": rows})
    report.page.set_viewport_size({"width": width, "height": 900})
    cell = report.page.locator("tbody td").last.bounding_box()
    assert cell["x"] + cell["width"] <= width
    assert report.page.locator("tbody td.name").bounding_box()["width"] > 100


def test_interactions_show_a_matrix_and_the_strongest_pairs(open_page):
    rows = [{"name": name, "score": score} for name, score in (("a", 1.0), ("b", 2.0), ("c", 3.0))]
    gram = [[4.0, 3.0, 0.0], [3.0, 4.0, -1.0], [0.0, -1.0, 1.0]]
    report = open_page({"metric": "SQNR", "ranking": rows, "gram": gram})
    squares = report.page.locator(".matrix rect")
    assert squares.count() == 9
    assert report.page.locator(".matrix rect.worse").count() == 2
    assert report.page.locator(".matrix rect.cancel").count() == 2
    squares.nth(1).hover()
    assert report.page.inner_text(".reading") == ("+0.75 worse together: a (rank 1) and b (rank 2)")
    assert report.page.locator(".pairs li").all_inner_texts()[:2] == ["+0.75\na\nb", "-0.40\nb\nc"]
    plain = open_page({"metric": "SQNR", "ranking": rows})
    assert plain.page.locator(".matrix").count() == 0
    assert report.messages == []


def test_points_stand_in_the_order_given_whatever_their_rank(open_report):
    report = open_report({"z": 3.0, "a": 1.0, "m": 2.0})
    xs = [report.point(i)[0] for i in range(3)]
    ys = [report.point(i)[1] for i in range(3)]
    assert xs == sorted(xs)
    assert ys[0] < ys[2] < ys[1]  # the screen's y grows downwards


def test_the_y_axis_does_not_start_at_zero(open_report):
    report = open_report({"a": 1000.0, "b": 1010.0})
    assert report.point(0)[1] - report.point(1)[1] > 150


def test_without_a_filter_the_table_holds_the_20_most_sensitive(open_report):
    report = open_report(SCORES)
    assert report.names() == ranked()[:20]
    assert report.rows()[0] == ["1", "b.q_proj.weight", "-12.5000"]
    assert "No filter is active" in report.page.inner_text("#status")
    report.page.click("#show-all")
    assert report.names() == ranked()


def test_the_threshold_lists_what_is_strictly_below(open_report):
    report = open_report(SCORES)
    assert "Show entries below" in report.page.inner_text(".controls")
    report.page.fill("#threshold", "30")
    assert report.names() == ["b.q_proj.weight", "c.k_proj.weight"]
    assert "2 of 24 match" in report.page.inner_text("#status")
    report.page.click(".clear")
    assert len(report.names()) == 20


def test_the_threshold_lists_what_is_above_when_higher_is_worse(open_report):
    report = open_report(SCORES, higher_is_worse=True)
    assert "Show entries above" in report.page.inner_text(".controls")
    assert report.names() == ranked(higher_is_worse=True)[:20]
    report.page.fill("#threshold", "58")
    assert report.names() == ["layer.19.act"]


def test_the_guide_line_stands_at_the_threshold(open_report):
    report = open_report(SCORES)
    assert report.page.locator(".guide .line").is_hidden()
    for name in ("c.k_proj.weight", "layer.19.act"):
        report.page.fill("#threshold", str(SCORES[name]))
        assert report.center(".guide .line")[1] == pytest.approx(
            report.point(NAMES.index(name))[1], abs=1.5
        )


def test_dragging_the_guide_line_sets_the_threshold(open_report):
    report = open_report(SCORES)
    x, y = report.center(".guide .grip")
    _, target = report.point(NAMES.index("a.q_proj.weight"))
    report.page.mouse.move(x, y)
    report.page.mouse.down()
    report.page.mouse.move(x, (y + target) / 2)
    report.page.mouse.move(x, target)
    report.page.mouse.up()
    assert float(report.page.input_value("#threshold")) == pytest.approx(30.0, abs=0.6)
    assert report.center(".guide .line")[1] == pytest.approx(target, abs=3)
    assert (
        {"b.q_proj.weight", "c.k_proj.weight"}
        <= set(report.names())
        <= {"a.q_proj.weight", *ranked()[:2]}
    )


def test_the_guide_line_obeys_the_keyboard(open_report):
    report = open_report(SCORES)
    report.page.fill("#threshold", "30")
    report.page.focus(".guide .grip")
    report.page.keyboard.press("Shift+ArrowUp")
    up = float(report.page.input_value("#threshold"))
    assert up > 30
    report.page.keyboard.press("ArrowDown")
    assert 30 < float(report.page.input_value("#threshold")) < up
    report.page.keyboard.press("Escape")
    assert report.page.input_value("#threshold") == ""
    assert len(report.names()) == 20


def test_toggles_paint_hits_red_and_filter_the_table(open_report):
    report = open_report(SCORES)
    hit, miss = (report.point(NAMES.index(name)) for name in ("a.q_proj.weight", "Q_PROJ.weight"))
    before = report.color(hit)
    assert before == report.color(miss) != HIT
    button = report.page.locator("[data-pattern=q_proj]")
    assert button.inner_text().split() == ["q_proj", "2"]
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert report.color(hit) == HIT
    assert report.color((hit[0] + 3, hit[1])) == HIT  # larger than the others
    assert report.color(miss) == before
    assert report.names() == ["b.q_proj.weight", "a.q_proj.weight"]
    report.page.click("[data-pattern=k_proj]")
    assert len(report.names()) == 3
    report.page.fill("#threshold", "28")
    assert report.names() == ["b.q_proj.weight", "c.k_proj.weight"]
    button.click()
    assert report.color(hit) == before
    assert report.names() == ["c.k_proj.weight"]


def test_a_reader_can_add_a_pattern(open_report):
    report = open_report(SCORES)
    report.page.fill("#add-pattern", "layer.1")
    report.page.keyboard.press("Enter")
    assert len(report.names()) == 11
    assert report.page.inner_text("tbody mark >> nth=0") == "layer.1"


def test_an_empty_table_says_what_was_asked_for(open_report):
    report = open_report(SCORES)
    report.page.click("[data-pattern=v_proj]")
    assert report.rows() == []
    assert report.page.inner_text(".empty") == "No entry has “v_proj” in the name."


def test_columns_sort_both_ways(open_report):
    report = open_report(SCORES)
    report.page.click("#show-all")
    name, score = (report.page.locator(f"th >> nth={i}") for i in (1, 2))
    score.locator("button").click()
    assert score.get_attribute("aria-sort") == "ascending"
    assert report.names() == ranked()
    score.locator("button").click()
    assert score.get_attribute("aria-sort") == "descending"
    assert report.names() == ranked()[::-1]
    name.locator("button").click()
    assert score.get_attribute("aria-sort") is None
    # Numbers inside names sort as numbers.
    layers = [n for n in report.names() if n.startswith("layer")]
    assert layers == [f"layer.{i}.act" for i in range(20)]


def test_scores_that_are_no_number_are_listed_and_not_drawn(open_report):
    report = open_report({"a": 1.0, "bad": math.nan, "b": 2.0, "same": math.inf})
    assert report.rows() == [
        ["1", "a", "1.0000"],
        ["2", "b", "2.0000"],
        ["3", "same", "∞"],
        ["-", "bad", "NaN"],
    ]
    notes = report.page.locator(".note summary").all_inner_texts()
    assert [note.split()[0] for note in notes] == ["1", "1"]
    report.page.focus(".plot")
    report.page.keyboard.press("ArrowRight")
    report.page.keyboard.press("ArrowRight")
    assert "b" in report.page.inner_text(".card-hover .name")  # the keys step over "bad"


def test_a_page_with_no_finite_score_still_lists_them(open_report):
    report = open_report({"a": math.nan, "b": math.inf})
    assert report.names() == ["b", "a"]
    assert report.messages == []


def test_the_rows_in_view_can_be_saved_as_csv(open_report):
    report = open_report({'odd, "name"': 0.1 + 0.2, "b": 2.0, "c": 9.0})
    report.page.fill("#threshold", "5")
    with report.page.expect_download() as download:
        report.page.get_by_text("Download CSV").click()
    assert download.value.suggested_filename == "Quantization_Sensitivity_SQNR.csv"
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert list(csv.reader(io.StringIO(text))) == [
        ["rank", "name", "SQNR"],
        ["1", 'odd, "name"', "0.30000000000000004"],
        ["2", "b", "2"],
    ]


def test_the_rows_in_view_can_be_copied(open_report):
    report = open_report({"a": 1.0, "b": 2.0})
    report.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    report.page.get_by_text("Copy CSV").click()
    report.page.get_by_text("Copied").wait_for()
    assert report.page.evaluate("navigator.clipboard.readText()").splitlines() == [
        "rank,name,SQNR",
        "1,a,1",
        "2,b,2",
    ]


def test_the_plot_can_be_saved_as_an_image(open_report):
    report = open_report(SCORES)
    report.page.fill("#threshold", "30")
    with report.page.expect_download() as download:
        report.page.get_by_text("Save image").click()
    assert Path(download.value.path()).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_box_zooms_in_and_the_button_back_out(open_report):
    report = open_report(SCORES)
    reset = report.page.get_by_text("Reset zoom")
    assert reset.is_disabled()
    before = report.point(10)
    x0, y0 = report.point(5)
    x1, _ = report.point(15)
    report.page.mouse.move(x0, y0)
    report.page.mouse.down()
    report.page.mouse.move((x0 + x1) / 2, y0 + 5)
    report.page.mouse.move(x1, y0 + 10)
    report.page.mouse.up()
    assert reset.is_enabled()
    assert report.point(11)[0] - report.point(10)[0] > 1.8 * (x1 - x0) / 10
    reset.click()
    assert reset.is_disabled()
    assert report.point(10) == pytest.approx(before, abs=0.5)


def test_screen_readers_hear_the_point_under_the_arrow_keys(open_report):
    report = open_report(SCORES)
    report.page.focus(".plot")
    report.page.keyboard.press("End")
    assert report.page.inner_text("[aria-live=polite]") == "Rank 4, Q_PROJ.weight, SQNR 35.0000"


def luminance(report):
    numbers = (
        report.page.evaluate("getComputedStyle(document.body).backgroundColor")
        .strip("rgb()")
        .split(",")
    )
    return sum(float(number) for number in numbers) / 3


def test_the_theme_follows_the_system_until_the_button_is_pressed(open_report, tmp_path):
    light = open_report(SCORES)
    dark = open_report(SCORES, theme="dark")
    assert luminance(light) > 230
    assert luminance(dark) < 40
    for name, report in (("light", light), ("dark", dark)):
        picture = report.page.screenshot(path=tmp_path / f"{name}.png")
        assert len(picture) > 10_000
    place = light.point(3)
    before = light.color(place)
    light.page.click("#theme")
    assert luminance(light) < 40
    assert light.color(place) != before  # the canvas follows
    light.page.emulate_media(color_scheme="dark")
    light.page.emulate_media(color_scheme="light")
    assert luminance(light) < 40


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_sticks_out_sideways(open_report, width):
    scores = SCORES | {"a_name_without_any_place_to_break_" * 6: 3.0}
    report = open_report(
        scores,
        size=(width, 800),
        details={"Q_PROJ.weight": "int8 per channel"},
        details_label="Format",
    )
    assert report.page.evaluate("document.documentElement.scrollWidth") <= width
    x, y = report.point(len(scores) - 1)
    report.page.mouse.move(x, y)
    box = report.page.locator(".card-hover").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width


def test_twelve_thousand_points_stay_usable(open_report):
    scores = {
        f"model.layers.{i}.q_proj": 50 + 10 * math.sin(i * 12.9898) * math.cos(i * 78.233)
        for i in range(12_000)
    }
    report = open_report(scores)
    report.page.click("[data-pattern=q_proj]")
    # A bound far above what it takes (about 0.1 s a step on a busy machine): it catches quadratic work, not slow machines.
    elapsed_ms = report.page.evaluate(
        """async () => {
            const input = document.getElementById('threshold');
            const begin = performance.now();
            for (let step = 0; step < 10; ++step) {
                input.value = String(45 + step);
                input.dispatchEvent(new Event('input'));
                await new Promise(requestAnimationFrame);
            }
            return performance.now() - begin;
        }"""
    )
    assert elapsed_ms < 10_000
    assert len(report.rows()) == 200
    report.page.get_by_text("Show 200 more").click()
    assert len(report.rows()) == 400
    assert report.messages == []


def test_on_a_narrow_screen_scores_and_handle_stay_in_sight(open_report):
    details = {"a": "activation, int8 asymmetric"}
    report = open_report(
        {"a": -123456.0, "b": 654321.0}, details=details, details_label="Quantizer", size=(380, 800)
    )
    report.page.fill("#threshold", "12345678")
    frame = report.page.locator(".plot").bounding_box()
    for selector in ("td.number >> nth=1", ".grip"):
        box = report.page.locator(selector).bounding_box()
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]
    assert report.page.locator("th", has_text="Quantizer").is_hidden()
