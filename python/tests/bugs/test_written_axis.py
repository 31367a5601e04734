"""Axes of scales, and shared tensors, as the written model has them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from situations import PER_CHANNEL, build, node, normal, samples, simulate, tied_embedding
from written import axis, checked_export, linear, maker, types, values


# G01, G02, G03: axis, number of scales, biases and attributes of each kind of layer
@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(
    ("layer", "weight", "x", "channel"),
    [
        (node("ConvTranspose", ["x", "W", "b"], ["y"], pads=[1] * 4), (3, 64, 3, 3), (1, 3, 8, 8), 1),
        (node("Conv", ["x", "W", "b"], ["y"]), (6, 5, 3, 3), (1, 5, 8, 8), 0),
        (node("Conv", ["x", "W"], ["y"], group=5), (5, 1, 3), (1, 5, 8), 0),
        (node("Gemm", ["x", "W", "b"], ["y"], transB=1), (7, 12), (1, 12), 0),
        (node("Gemm", ["x", "W", "b"], ["y"]), (7, 5), (1, 7), 1),
        (node("MatMul", ["x", "W"], ["y"]), (8, 5), (2, 8), 1),
    ],
    ids=["ConvTranspose", "Conv", "depthwise Conv", "Gemm transB", "Gemm", "MatMul"],
)  # fmt: skip
def test_scales_lie_along_the_channels(layer, weight, x, channel, bits, integers):
    channels = weight[channel]
    shape = [1] * len(weight)
    shape[channel] = channels
    spread = (2.0 ** (np.arange(channels) % 8)).reshape(shape)
    weights = {"W": (normal(*weight) * spread).astype(np.float32)}
    if "b" in layer.input:
        weights["b"] = normal(channels)
    model = build([layer], {"x": x}, weights)
    feeds = samples(x=x)
    sim = simulate(model, feeds, config_file=PER_CHANNEL, param_type=f"int{bits}")
    exported = checked_export(sim, feeds, prequantize_constants=integers, export_int32_bias=True)
    written = next(n for n in exported.graph.node if n.op_type == layer.op_type)
    assert list(written.attribute) == list(layer.attribute)
    stored = values(exported)
    pair = maker(exported, written.input[1])
    assert axis(pair) == channel
    assert stored[pair.input[1]].shape == (channels,)
    if "b" in layer.input:
        bias = maker(exported, written.input[2])
        assert types(exported)[bias.input[0]] == TensorProto.INT32
        assert stored[bias.input[1]].shape == (channels,)
        x_scale = stored[maker(exported, written.input[0]).input[1]]
        np.testing.assert_allclose(
            stored[bias.input[1]], x_scale * stored[pair.input[1]], rtol=1e-6
        )


# G05: a table that is rows for one reader and columns for another is stored once
@pytest.mark.parametrize("rules", ["default", PER_CHANNEL])
@pytest.mark.parametrize("integers", [False, True])
def test_a_tied_table_is_stored_once_and_loads_at_every_level(rules, integers):
    model, feeds = tied_embedding()
    sim = simulate(model, feeds, config_file=rules)
    exported = checked_export(sim, feeds, prequantize_constants=integers)
    tables = [i for i in exported.graph.initializer if list(i.dims) == [512, 64]]
    assert len(tables) == 1
    assert tables[0].data_type == (TensorProto.INT8 if integers else TensorProto.FLOAT)


# The same weight of two layers of one kind, read through one pair
@pytest.mark.parametrize("integers", [False, True])
def test_a_weight_of_two_layers_is_stored_once(integers):
    model = build(
        [node("Conv", ["x", "W"], ["h"]), node("Relu", ["h"], ["r"]), node("Conv", ["r", "W"], ["y"])],
        {"x": [1, 16, 8, 8]},
        {"W": normal(16, 16, 3, 3)},
    )  # fmt: skip
    feeds = samples(x=[1, 16, 8, 8])
    sim = simulate(model, feeds, config_file=PER_CHANNEL)
    exported = checked_export(sim, feeds, prequantize_constants=integers)
    assert len([i for i in exported.graph.initializer if list(i.dims) == [16, 16, 3, 3]]) == 1
    convs = [n for n in exported.graph.node if n.op_type == "Conv"]
    assert convs[0].input[1] == convs[1].input[1]
    assert len([n for n in linear(exported) if n.output[0] == convs[0].input[1]]) == 1
