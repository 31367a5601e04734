"""Along which axis the scales of a weight lie."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

import bitsweep
from bitsweep.errors import Error
from bitsweep.quantsim import set_blockwise_quantization_for_weights
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


# The same for every rank, data type and operator set, and behind nodes that turn the weight
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize(
    ("layer", "weight", "x", "turn", "axis"),
    [
        (node("Conv", ["x", "V"], ["y"]), (4, 2, 3), (1, 2, 9), [], 0),
        (node("Conv", ["x", "V"], ["y"]), (4, 2, 3, 3, 3), (1, 2, 5, 5, 5), [], 0),
        (node("ConvTranspose", ["x", "V"], ["y"]), (2, 4, 3), (1, 2, 9), [], 1),
        (node("MatMul", ["x", "V"], ["y"]), (2, 8, 5), (2, 3, 8), [], 2),
        (node("MatMul", ["x", "V"], ["y"]), (5, 8), (3, 8), [[1, 0]], 0),
        (node("MatMul", ["x", "V"], ["y"]), (8, 5), (3, 8), [[1, 0], [1, 0]], 1),
        (node("MatMul", ["x", "V"], ["y"]), (5, 2, 8), (2, 3, 8), [[1, 2, 0]], 0),
        (node("Gemm", ["x", "V"], ["y"], transB=1), (8, 5), (3, 8), [[1, 0]], 1),
        (node("Conv", ["x", "V"], ["y"]), (3, 3, 2, 4), (1, 2, 8, 8), [[3, 2, 0, 1]], 3),
    ],
    ids=lambda v: getattr(v, "op_type", str(v)),
)
def test_the_axis_of_every_rank_type_and_way(layer, weight, x, turn, axis, opset, dtype):
    nodes, name = [], "W"
    for k, perm in enumerate(turn):
        nodes.append(node("Transpose", [name], [out := f"W{k}"], perm=perm))
        name = out
    nodes.append(node("Identity", [name], ["V"]))
    nodes.append(layer)
    half = dtype == np.float16
    elem = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    model = build(
        nodes,
        {"x": x},
        {"W": normal(*weight).astype(dtype)},
        opset=opset,
        input_types={"x": elem},
        output_type=elem,
    )
    feeds = [{"x": normal(*x).astype(dtype)} for _ in range(2)]
    sim = simulate(model, feeds, config_file=PER_CHANNEL)
    assert f"per-channel({axis})" in rows(sim)["W"].format
    assert num_scales(sim, "W") == weight[axis]


# Blocks lie along the other axis, and one that does not divide it is refused
@pytest.mark.parametrize(
    ("layer", "weight", "x", "block_axis"),
    [
        (node("Conv", ["x", "W"], ["y"]), (6, 8, 1, 1), (1, 8, 4, 4), 1),
        (node("ConvTranspose", ["x", "W"], ["y"]), (8, 6, 1, 1), (1, 8, 4, 4), 0),
        (node("Gemm", ["x", "W"], ["y"]), (8, 6), (2, 8), 0),
        (node("Gemm", ["x", "W"], ["y"], transB=1), (6, 8), (2, 8), 1),
        (node("MatMul", ["x", "W"], ["y"]), (8, 6), (2, 8), 0),
    ],
    ids=lambda v: getattr(v, "op_type", str(v)),
)
def test_blocks_lie_along_the_input_channels(layer, weight, x, block_axis):
    model = build([layer], {"x": x}, {"W": normal(*weight)})
    sim = bitsweep.QuantizationSimModel(model, config_file=PER_CHANNEL)
    with pytest.raises(Error, match="W"):
        set_blockwise_quantization_for_weights(sim, [layer.op_type], 4, True, 3, strict=True)
    set_blockwise_quantization_for_weights(sim, [layer.op_type], 4, True, 4)
    sim.compute_encodings(samples(x=x))
    assert sim.qc_quantize_op_dict["W"].quant_info.blockAxis == block_axis
    assert num_scales(sim, "W") == 6 * 2
