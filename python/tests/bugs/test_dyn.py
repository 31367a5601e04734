"""Dimensions that are open, of another size in each sample, or zero."""

from __future__ import annotations

import numpy as np
import pytest

import bitsweep
from bitsweep.errors import Error
from situations import SCHEMES, build, node, normal, samples, simulate


# G23
def test_samples_of_different_lengths_calibrate_as_one_batch():
    model = build([node("MatMul", ["x", "W"], ["y"])], {"x": ["N", "S", 8]}, {"W": normal(8, 8)})
    parts = [normal(1, length, 8) for length in (3, 5, 9)]
    apart = simulate(model, [{"x": p} for p in parts])
    together = simulate(model, [{"x": np.concatenate(parts, 1)}])
    for tensor in ("x", "y", "W"):
        a = apart.qc_quantize_op_dict[tensor].get_encodings()[0]
        b = together.qc_quantize_op_dict[tensor].get_encodings()[0]
        assert a.min == pytest.approx(b.min, rel=1e-6)
        assert a.max == pytest.approx(b.max, rel=1e-6)


# G24
def test_symbolic_dimensions_take_any_size_and_fixed_ones_are_checked():
    model = build(
        [node("Conv", ["x", "W"], ["y"])], {"x": ["batch", 3, "h", "w"]}, {"W": normal(4, 3, 3, 3)}
    )
    sim = simulate(model, samples(x=[1, 3, 16, 24]) + samples(x=[2, 3, 9, 7]))
    with pytest.raises(Error, match=r'"x".*4') as refused:
        sim.session.run(None, {"x": normal(1, 4, 16, 24)})
    assert "3" in str(refused.value)


# G25
@pytest.mark.parametrize("lengths", [(0, 3), (0, 0)])
def test_an_empty_past_is_skipped_in_the_statistics(lengths):
    model = build(
        [
            node("Concat", ["past", "k"], ["keys"], axis=2),
            node("Transpose", ["keys"], ["kt"], perm=[0, 1, 3, 2]),
            node("MatMul", ["q", "kt"], ["y"]),
        ],
        {"past": [1, 2, "P", 4], "k": [1, 2, 1, 4], "q": [1, 2, 1, 4]},
        {},
    )
    feeds = [
        {"past": normal(1, 2, p, 4), "k": normal(1, 2, 1, 4), "q": normal(1, 2, 1, 4)}
        for p in lengths
    ]
    sim = simulate(model, feeds)
    assert np.isfinite(sim.session.run(None, feeds[-1])[0]).all()
    with_values = {"past": normal(1, 2, 3, 4), "k": feeds[0]["k"], "q": feeds[0]["q"]}
    assert np.isfinite(sim.session.run(None, with_values)[0]).all()


# Zero-size tensors anywhere, under every scheme
@pytest.mark.parametrize("scheme", SCHEMES)
def test_batches_without_a_single_value_add_nothing(scheme):
    model = build([node("MatMul", ["x", "W"], ["y"])], {"x": ["n", 4]}, {"W": normal(4, 3)})
    full = samples(2, x=[3, 4])
    empty = {"x": np.zeros((0, 4), np.float32)}
    ranges = []
    for feeds in (full, [full[0], empty, full[1]]):
        sim = simulate(model, feeds, quant_scheme=scheme)
        ranges.append([sim.qc_quantize_op_dict[t].get_encodings()[0].max for t in ("x", "y")])
    assert ranges[0] == ranges[1]
    assert sim.session.run(None, empty)[0].shape == (0, 3)


# One histogram, however the samples come in batches
@pytest.mark.parametrize("scheme", SCHEMES)
def test_growing_histograms_do_not_depend_on_batches_or_their_order(scheme):
    model = build([node("MatMul", ["x", "W"], ["y"])], {"x": ["n", 8]}, {"W": normal(8, 8)})
    x = normal(48, 8) * np.linspace(0.1, 5, 48, dtype=np.float32)[:, np.newaxis]
    found = []
    for sizes in ([48], [1] * 48, [5, 40, 3]):
        parts = np.split(x, np.cumsum(sizes)[:-1])
        sim = bitsweep.QuantizationSimModel(model, quant_scheme=scheme)
        sim.set_histogram_support("growing")
        sim.compute_encodings([{"x": part} for part in parts])
        (encoding,) = sim.qc_quantize_op_dict["x"].get_encodings()
        found.append((encoding.min, encoding.max))
    reach = np.abs(x).max()
    for low, high in found[1:]:
        # A histogram that has grown may keep a value in another bucket: of 2048 at the least.
        assert abs(low - found[0][0]) <= reach / 128
        assert abs(high - found[0][1]) <= reach / 128
