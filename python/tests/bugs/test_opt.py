"""Optional inputs: empty names, inputs that were attributes once."""

from __future__ import annotations

import numpy as np
import pytest

from situations import build, node, normal, rows, samples, simulate


# G10
def test_an_empty_input_name_gets_no_quantizer():
    model = build(
        [node("Pad", ["x", "pads", ""], ["p"]), node("Conv", ["p", "W"], ["y"])],
        {"x": [1, 3, 8, 8]},
        {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "W": normal(4, 3, 3, 3)},
    )
    assert "" not in rows(simulate(model, samples(x=[1, 3, 8, 8])))


# G11
@pytest.mark.parametrize(
    ("clip", "weights", "opset", "low", "high"),
    [
        (
            node("Clip", ["c", "lo", "hi"], ["y"]),
            {"lo": np.float32(0), "hi": np.float32(6)},
            17,
            0,
            6,
        ),
        (node("Clip", ["c", "", "hi"], ["y"]), {"hi": np.float32(6)}, 17, None, 6),
        (node("Clip", ["c", "lo"], ["y"]), {"lo": np.float32(0)}, 17, 0, None),
        (node("Clip", ["c"], ["y"], min=0.0, max=6.0), {}, 10, 0, 6),
    ],
    ids=["both", "only max", "only min", "attributes"],
)
def test_clip_bounds_come_from_the_right_place(clip, weights, opset, low, high):
    model = build(
        [node("Conv", ["x", "W"], ["c"]), clip],
        {"x": [1, 3, 8, 8]},
        {"W": normal(4, 3, 3, 3), **{k: np.array(v) for k, v in weights.items()}},
        opset=opset,
    )
    sim = simulate(model, samples(x=[1, 3, 8, 8]))
    encoding = sim.qc_quantize_op_dict["y"].get_encodings()[0]
    if low is not None:
        assert encoding.min == 0
    else:
        assert encoding.min < -1
    if high is not None:
        assert encoding.max <= 6 + encoding.delta
    else:
        assert encoding.max > 6
    assert sim.qc_quantize_op_dict["W"].enabled
