"""Calibration data with values that are not finite, outliers, and every scheme."""

from __future__ import annotations

import numpy as np
import pytest

import bitsweep
from bitsweep.errors import Error
from sessions import ONE_THREAD
from situations import SCHEMES, build, node, normal, rows, samples, simulate


# G19: padded tokens
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_leave_no_trace_but_a_count(scheme, bad):
    model = build([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 8]}, {"w": normal(8, 4)})
    clean = samples(4, x=[1, 8])
    dirty = [{"x": feed["x"].copy()} for feed in clean]
    # The values that the others of the sample cover anyway.
    low, high = np.argsort(dirty[2]["x"][0])[3:5]
    dirty[2]["x"][0, [low, high]] = bad
    ranges = []
    for feeds in (clean, dirty):
        sim = bitsweep.QuantizationSimModel(
            model, quant_scheme=scheme, session_options_kwargs=ONE_THREAD
        )
        sim.set_histogram_support("growing")
        if feeds is dirty:
            with pytest.warns(UserWarning, match="2 values"):
                sim.compute_encodings(feeds)
            assert ("x", 2) in sim.native.non_finite_counts()
        else:
            sim.compute_encodings(feeds)
        ranges.append(sim.qc_quantize_op_dict["x"].get_encodings()[0])
    step = ranges[0].delta
    assert abs(ranges[0].min - ranges[1].min) <= 8 * step
    assert abs(ranges[0].max - ranges[1].max) <= 8 * step


def test_a_tensor_without_a_finite_value_is_named():
    model = build([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 8]}, {"w": normal(8, 4)})
    sim = bitsweep.QuantizationSimModel(model)
    with pytest.raises(Error, match='"x"'):
        sim.compute_encodings([{"x": np.full((1, 8), np.nan, np.float32)}])


# G20: data on one side of zero
@pytest.mark.parametrize("scheme", ["percentile", "entropy", "mse"])
@pytest.mark.parametrize("side", [1, -1])
def test_one_sided_data_has_its_zero_at_the_end_and_no_outliers(scheme, side):
    nodes = [node("Abs", ["x"], ["a"]), node("Neg", ["a"], ["n"])]
    nodes.append(node("MatMul", ["a" if side > 0 else "n", "w"], ["y"]))
    model = build(nodes, {"x": [1, 10000]}, {"w": normal(10000, 2)}, ["y", "n"])
    x = np.linspace(-6, 6, 10000, dtype=np.float32).reshape(1, -1)
    x[0, 5000:5002] = 60
    sim = bitsweep.QuantizationSimModel(model, quant_scheme=scheme, config_file="per_tensor")
    name = "a" if side > 0 else "n"
    quantizer = sim.qc_quantize_op_dict[name]
    sim.set_histogram_support("growing")
    quantizer.set_percentile_value(99.9)
    sim.compute_encodings([{"x": x}])
    (e,) = quantizer.get_encodings()
    assert e.offset == (0 if side > 0 else -255)
    far = e.max if side > 0 else -e.min
    if scheme == "percentile":
        assert 5.9 < far < 6.2
    assert min(e.min, e.max) <= 0 <= max(e.min, e.max)


# G21: every scheme covers every tensor
def test_graph_outputs_have_ranges_under_every_scheme():
    model = build(
        [node("Gemm", ["x", "w", "b"], ["y"])], {"x": [2, 8]}, {"w": normal(8, 4), "b": normal(4)}
    )
    covered = {}
    for scheme in SCHEMES:
        sim = simulate(model, samples(x=[2, 8]), quant_scheme=scheme)
        covered[scheme] = {n for n, q in sim.qc_quantize_op_dict.items() if q.get_encodings()}
    assert "y" in covered["min_max"]
    assert all(names == covered["min_max"] for names in covered.values())


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("mask_is_constant", [False, True])
def test_an_attention_mask_of_infinities_spoils_no_range(scheme, mask_is_constant):
    mask = np.zeros((1, 6, 6), np.float32)
    mask[:, :, 4:] = -np.inf  # two padded tokens
    nodes = [
        node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        node("MatMul", ["q", "kt"], ["scores"]),
        node("Add", ["scores", "mask"], ["masked"]),
        node("Softmax", ["masked"], ["p"], axis=-1),
        node("MatMul", ["p", "v"], ["y"]),
    ]
    shapes = {"q": [1, 6, 8], "k": [1, 6, 8], "v": [1, 6, 8]}
    weights = {"mask": mask} if mask_is_constant else {}
    inputs = shapes if mask_is_constant else {**shapes, "mask": [1, 6, 6]}
    model = build(nodes, inputs, weights)
    feeds = samples(3, **shapes)
    if not mask_is_constant:
        feeds = [{**feed, "mask": mask} for feed in feeds]
    sim = bitsweep.QuantizationSimModel(
        model, quant_scheme=scheme, session_options_kwargs=ONE_THREAD
    )
    with pytest.warns(UserWarning, match="NaN or infinite"):
        sim.compute_encodings(feeds)
    assert not sim.qc_quantize_op_dict["mask"].enabled
    assert "mask" in rows(sim)["mask"].reason
    (scores,) = sim.qc_quantize_op_dict["masked"].get_encodings()
    largest = max(np.abs(feed["q"] @ feed["k"].transpose(0, 2, 1)).max() for feed in feeds)
    assert -1.1 * largest < scores.min < 0 < scores.max < 1.1 * largest
    for feed in feeds:
        assert all(np.isfinite(y).all() for y in sim.session.run(None, feed))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_growing_range_does_not_depend_on_how_samples_are_batched(scheme):
    model = build(
        [node("Relu", ["x"], ["r"]), node("MatMul", ["r", "w"], ["y"])],
        {"x": ["n", 16]},
        {"w": normal(16, 4)},
    )
    data = np.concatenate([normal(16, 16) * scale for scale in (1, 3, 0.5, 10)])
    found = []
    for size, order in ((64, 1), (16, 1), (7, 1), (1, 1), (7, -1)):
        sim = bitsweep.QuantizationSimModel(
            model, quant_scheme=scheme, session_options_kwargs=ONE_THREAD
        )
        sim.set_histogram_support("growing")
        rows_in_order = data[::order]
        sim.compute_encodings([{"x": rows_in_order[i : i + size]} for i in range(0, 64, size)])
        # The product is not compared: its last bits depend on the batch in the runtime itself.
        encodings = [sim.qc_quantize_op_dict[t].get_encodings()[0] for t in ("x", "w")]
        found.append([(e.min, e.max, e.delta, e.offset) for e in encodings])
    assert all(ranges == found[0] for ranges in found)
    assert found[0][0][1] > 12, "the range grew with the last samples"


# A constant that shares a histogram with activations is a part of every run
@pytest.mark.parametrize("scheme", ["tf_enhanced", "percentile"])
@pytest.mark.parametrize("order", [["h", "c"], ["c", "h"]], ids="-".join)
def test_the_weight_of_a_tied_constant_does_not_fade_with_more_samples(scheme, order):
    constant = np.linspace(-5, 5, 8, dtype=np.float32).reshape(1, 8)
    model = build(
        [
            node("Relu", ["x"], ["h"]),
            node("Concat", order, ["both"], axis=0),
            node("MatMul", ["both", "w"], ["y"]),
        ],
        {"x": [6, 8]},
        {"c": constant, "w": normal(8, 4)},
    )
    (feed,) = samples(1, x=[6, 8])
    ranges = []
    for count in (1, 8):
        sim = bitsweep.QuantizationSimModel(
            model, quant_scheme=scheme, session_options_kwargs=ONE_THREAD
        )
        quantizer = sim.qc_quantize_op_dict["both"]
        assert sim.qc_quantize_op_dict["c"] is quantizer
        quantizer.set_percentile_value(90.0)
        sim.compute_encodings([feed] * count)
        (e,) = quantizer.get_encodings()
        ranges.append((e.min, e.max))
    assert ranges[0] == pytest.approx(ranges[1])


@pytest.mark.parametrize("scheme", ["tf_enhanced", "percentile"])
def test_a_histogram_begins_with_what_the_network_computes_first(scheme):
    """The first values decide what it can hold: those of the input, not of a constant state behind it."""
    weights = {
        "w": normal(1, 12, 4) * 0.3,
        "r": normal(1, 12, 3) * 0.3,
        "h0": np.linspace(-0.1, 0.1, 3, dtype=np.float32).reshape(1, 1, 3),
    }
    nodes = [
        node("Transpose", ["x"], ["steps"], perm=[1, 0, 2]),
        node("LSTM", ["steps", "w", "r", "", "", "h0"], ["y"], hidden_size=3),
    ]
    model = build(nodes, {"x": [1, 5, 4]}, weights)
    sim = bitsweep.QuantizationSimModel(
        model, quant_scheme=scheme, session_options_kwargs=ONE_THREAD
    )
    quantizers = sim.qc_quantize_op_dict
    assert quantizers["x"] is quantizers["h0"] is quantizers["y"]
    sim.compute_encodings([{"x": feed["x"] * 3} for feed in samples(3, x=[1, 5, 4])])
    (e,) = quantizers["x"].get_encodings()
    assert e.max - e.min > 1, "three times the range of h0 is 0.6"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_values_inside_the_network_that_are_not_finite_are_skipped_counted_and_named(scheme):
    model = build(
        [
            node("Reciprocal", ["x"], ["inverse"]),
            node("Sqrt", ["x"], ["root"]),
            node("MatMul", ["x", "w"], ["y"]),
        ],
        {"x": [1, 64]},
        {"w": normal(64, 4)},
        ["y", "inverse", "root"],
    )
    feeds = [{"x": np.linspace(0.5, 2, 64, dtype=np.float32).reshape(1, 64)} for _ in range(3)]
    feeds[0]["x"][0, 10] = 0.0  # its inverse is infinite
    feeds[2]["x"][0, 20] = -1.0  # its root is NaN
    sim = bitsweep.QuantizationSimModel(
        model, quant_scheme=scheme, session_options_kwargs=ONE_THREAD
    )
    with pytest.warns(UserWarning, match="NaN or infinite"):
        sim.compute_encodings(feeds)
    assert dict(sim.native.non_finite_counts()) == {"inverse": 1, "root": 1}
    for tensor, low, least, high in (("inverse", -1.1, 1.6, 2.1), ("root", 0, 1.2, 1.5)):
        (e,) = sim.qc_quantize_op_dict[tensor].get_encodings()
        assert low <= e.min <= 0, tensor
        assert least < e.max < high, tensor
