"""Along which axis the scales of a weight lie."""

from __future__ import annotations

import numpy as np
import pytest

from situations import PER_CHANNEL, build, node, normal, num_scales, rows, samples, simulate


# G01, G02, G03: the channel axis follows the operator and its attributes
@pytest.mark.parametrize(
    ("layer", "weight", "x", "axis"),
    [
        (
            node("ConvTranspose", ["x", "W", "b"], ["y"], pads=[1] * 4),
            (3, 64, 3, 3),
            (1, 3, 8, 8),
            1,
        ),
        (node("ConvTranspose", ["x", "W"], ["y"], group=2), (4, 3, 2, 2), (1, 4, 8, 8), None),
        (node("Conv", ["x", "W"], ["y"]), (6, 5, 3, 3), (1, 5, 8, 8), 0),
        (node("Conv", ["x", "W"], ["y"], group=5), (5, 1, 3), (1, 5, 8), 0),
        (node("Gemm", ["x", "W", "b"], ["y"], transB=1), (7, 12), (1, 12), 0),
        (node("Gemm", ["x", "W", "b"], ["y"]), (7, 5), (1, 7), 1),
        (node("MatMul", ["x", "W"], ["y"]), (8, 5), (2, 8), 1),
    ],
    ids=lambda v: getattr(v, "op_type", str(v)),
)
def test_one_scale_per_output_channel(layer, weight, x, axis):
    channels = weight[1 if axis is None else axis]
    spread = 2.0 ** (np.arange(weight[1 if axis is None else axis]) % 8)
    shape = [1] * len(weight)
    shape[1 if axis is None else axis] = channels
    weights = {"W": (normal(*weight) * spread.reshape(shape)).astype(np.float32)}
    if "b" in layer.input:
        weights["b"] = normal(channels)
    model = build([layer], {"x": x}, weights)
    sim = simulate(model, samples(x=x), config_file=PER_CHANNEL)
    if axis is None:
        assert "per-channel" in rows(sim)["W"].format or rows(sim)["W"].reason
        return
    assert f"per-channel({axis})" in rows(sim)["W"].format
    assert num_scales(sim, "W") == channels
