"""The pages of the analyzer in a real browser, and the sensitivity page through the Python API."""

import importlib
import math
import re

import numpy as np
import onnx
import pytest


def test_a_page_of_lines_shows_values_in_the_order_given(open_page):
    report = open_page(
        {"title": "Per layer", "values": {"conv2": 0.5, "conv1": -0.25, "bad": "NaN"}}
    )
    assert report.rows() == [
        ["1", "conv2", "0.5000"],
        ["2", "conv1", "-0.2500"],
        ["3", "bad", "NaN"],
    ]
    # Negative values are in sight: the axis does not start at zero.
    (x0, y0), (x1, y1) = report.point(0), report.point(1)
    assert x0 < x1
    assert y1 - y0 > 150
    report.page.mouse.move(x1, y1)
    assert re.search(
        r"conv1\s+Score\s+-0.2500\s+Position\s+2", report.page.inner_text(".card-hover")
    )
    report.page.fill("#add-pattern", "conv1")
    report.page.keyboard.press("Enter")
    assert [row[1] for row in report.rows()] == ["conv1"]
    assert report.requests == [report.url]
    assert report.messages == []


FRONTIER = {
    "title": "Mix",
    "cost_label": "megabytes",
    "types": ["W8A16", "W8A8"],
    "groups": ["conv1", "conv2", "fc"],
    "points": [
        {"cost": 1.0, "quality": 10.0, "predicted": 11.0, "types": [1, 1, 1]},
        {"cost": 1.5, "quality": 30.0, "predicted": 30.5, "types": [0, 1, 1]},
        {"cost": 4.0, "quality": 35.0, "predicted": 34.0, "types": [0, 0, 1]},
    ],
    "chosen": 1,
    "wanted": 25,
}


def test_a_page_of_a_frontier_has_a_true_cost_axis_and_the_types_of_each_point(open_page):
    report = open_page(FRONTIER)
    page = report.page
    points = page.locator("[aria-label=Points] tbody tr")
    assert [row.split("\t") for row in points.all_inner_texts()] == [
        ["1", "10.0000", "11.0000", "W8A8 x 3", ""],
        ["1.5", "30.0000", "30.5000", "W8A16 x 1, W8A8 x 2", "chosen"],
        ["4", "35.0000", "34.0000", "W8A16 x 2, W8A8 x 1", ""],
    ]
    # Distances on the axis are those of the costs: 0.5 to 2.5.
    at = [report.point(index)[0] for index in range(3)]
    assert math.isclose((at[2] - at[1]) / (at[1] - at[0]), 5.0, rel_tol=0.02)
    page.mouse.move(*report.point(2))
    assert re.search(
        r"Cost\s+4\s+Measured\s+35.0000\s+Predicted\s+34.0000", page.inner_text(".card-hover")
    )

    def groups():
        rows = page.locator("[aria-label=Groups] tbody tr").all_inner_texts()
        return [row.split("\t")[1:] for row in rows]

    assert groups() == [["conv1", "W8A16"], ["conv2", "W8A8"], ["fc", "W8A8"]]
    strip = page.locator(".strip").bounding_box()
    page.mouse.click(strip["x"] + strip["width"] / 2, strip["y"] + 3)  # the dearest is on top
    assert groups() == [["conv1", "W8A16"], ["conv2", "W8A16"], ["fc", "W8A8"]]
    assert page.inner_text(".reading") == "W8A16: conv2 (position 2) at cost 4"
    assert report.requests == [report.url]
    assert report.messages == []


def test_a_frontier_without_groups_is_a_curve(open_page):
    points = [{"cost": cost, "quality": -1.0 / cost} for cost in (0.25, 0.5, 1.0)]
    report = open_page({"title": "Curve", "cost_label": "bops", "points": points})
    assert report.page.locator(".strip").count() == 0
    assert [row[:2] for row in report.rows()] == [
        ["0.25", "-4.0000"],
        ["0.5", "-2.0000"],
        ["1", "-1.0000"],
    ]
    assert report.messages == []


HISTOGRAMS = [
    {"name": "w[0]", "begin": -2.0, "width": 1.0, "probabilities": [0.1, 0.6, 0.2, 0.1], "encoding_min": -1.0, "encoding_max": 1.0},
    {"name": "w[1]", "begin": 0.0, "width": 0.5, "probabilities": [0.0, 1.0], "encoding_min": 0.0, "encoding_max": 1.0},
]  # fmt: skip


def test_a_page_of_histograms_shows_one_after_another(open_page):
    report = open_page({"title": "Weights", "histograms": HISTOGRAMS})
    assert report.page.inner_text("#status") == (
        "Encoding from -1.000 to 1.000; 20.0 % of the values in buckets outside"
    )
    before = report.page.evaluate("document.querySelector('canvas').toDataURL()")
    report.page.click("text=Next")
    assert report.page.input_value("#choice") == "1"
    assert "0.00 %" in report.page.inner_text("#status")
    assert report.page.evaluate("document.querySelector('canvas').toDataURL()") != before
    report.page.click("text=Next")
    assert report.page.input_value("#choice") == "0"
    report.page.check("#log")
    assert report.page.evaluate("document.querySelector('canvas').toDataURL()") != before
    assert report.requests == [report.url]
    assert report.messages == []


def test_a_single_histogram_needs_no_choice(open_page):
    report = open_page({"histograms": HISTOGRAMS[:1]})
    assert report.page.inner_text("h1") == "Histogram of w[0]"
    assert report.page.locator("#choice").is_hidden()


def test_hover_over_a_histogram_shows_the_bucket(open_page):
    report = open_page({"histograms": HISTOGRAMS[:1]})
    box = report.page.locator(".canvas").bounding_box()
    shares = []
    for step in range(1, 60):
        report.page.mouse.move(box["x"] + step * box["width"] / 60, box["y"] + 150)
        if report.page.locator(".card-hover").is_visible():
            shares.append(report.page.inner_text(".card-hover b"))
    assert [
        share for share, last in zip(shares, [None, *shares], strict=False) if share != last
    ] == [
        "0.1000",
        "0.6000",
        "0.2000",
        "0.1000",
    ]


def test_the_python_api_writes_the_page(open_page, tmp_path):
    analysis = pytest.importorskip("bitsweep.analysis", reason="needs the Python package")
    metric = analysis.SensitivityMetric("Perplexity", lambda session: 0.0, higher_is_worse=True)
    scores = {"a.q_proj": 9.0, "b": 12.5, "c": math.nan}
    path = tmp_path / "sensitivity.html"
    analysis.save_sensitivity_plot(
        scores, metric, path, details={"b": "int8"}, details_label="Format"
    )
    report = open_page(path=path)
    assert report.rows() == [
        ["1", "b", "int8", "12.5000"],
        ["2", "a.q_proj", "", "9.0000"],
        ["-", "c", "", "NaN"],
    ]
    assert "Show entries above" in report.page.inner_text(".controls")
    assert report.page.locator("[data-pattern=q_proj] .count").inner_text() == "1"
    assert report.requests == [report.url]
    assert report.messages == []


def test_pages_of_a_folder_load_its_script_from_above_and_open_from_another_place(
    open_page, tmp_path
):
    quantsim = pytest.importorskip("bitsweep.quantsim", reason="needs the Python package")
    _core = importlib.import_module("bitsweep._core")
    rng = np.random.default_rng(0)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"], "layer")],
        "net",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 4])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 3])],
        [onnx.numpy_helper.from_array(rng.normal(size=(4, 3)).astype(np.float32), "w")],
    )
    opset = [onnx.helper.make_opsetid("", 17)]
    sim = quantsim.QuantizationSimModel(
        onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), quant_scheme="tf_enhanced"
    )
    sim.compute_encodings([{"x": rng.normal(size=(1, 4)).astype(np.float32)}])
    _core.write_quantizer_histograms(sim.native, tmp_path / "made")
    moved = (tmp_path / "made").rename(tmp_path / "moved here")
    report = open_page(path=moved / "weights_pdf" / "layer" / "layer_weight.html")
    assert report.page.inner_text("h1") == "Values of layer_weight"
    assert report.page.locator(".alone").count() == 0
    assert report.requests == [report.url] + [
        (moved / name).as_uri() for name in ("report.css", "report.js")
    ]
    assert report.messages == []
