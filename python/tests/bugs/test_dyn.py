"""Dimensions that are open, of another size in each sample, or zero."""

from __future__ import annotations

import numpy as np
import pytest

from bitsweep.errors import Error
from situations import build, node, normal, samples, simulate


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
