"""Weights and biases with several readers."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from sessions import float_session
from situations import (
    PER_CHANNEL,
    build,
    node,
    normal,
    rows,
    samples,
    simulate,
    tied_embedding,
)


# G04: a shared bias, and a tensor of the name that a copy would like to have
def test_shared_bias_beside_a_tensor_of_a_likely_copy_name():
    model = build(
        [node("Conv", ["x", "W1", "b"], ["b0"]), node("Conv", ["b0", "W2", "b"], ["y"])],
        {"x": [1, 10, 8, 8]},
        {"W1": normal(10, 10, 2, 2), "W2": normal(10, 10, 2, 2), "b": normal(10)},
    )
    sim = simulate(model, samples(x=[1, 10, 8, 8]))
    assert rows(sim)["b0"].status == "quantized"
    assert [r.tensor for r in sim.describe()].count("b") == 1
    feeds = samples(x=[1, 10, 8, 8])
    exported = sim.to_onnx_qdq(export_int32_bias=True, prequantize_constants=True)
    convs = [n for n in exported.graph.node if n.op_type == "Conv"]
    made = {n.output[0]: n for n in exported.graph.node}
    types = {i.name: i.data_type for i in exported.graph.initializer}
    # A copy in 32 bits for each reader, because the scales of their inputs differ; the float one is gone.
    assert convs[0].input[2] != convs[1].input[2]
    for conv in convs:
        assert types[made[conv.input[2]].input[0]] == onnx.TensorProto.INT32
    assert "b" not in types
    assert sim.verify(exported, feeds, latency_runs=0).passed


# G05: one table read by Gather and, transposed, by Gemm
@pytest.mark.parametrize("rules", ["default", PER_CHANNEL])
def test_tied_embedding_has_one_quantizer(rules):
    model, feeds = tied_embedding()
    sim = simulate(model, feeds, config_file=rules)
    assert sim.param_names.count("E") == 1
    assert rows(sim)["E"].reason


# Whoever shares a weight or bias, wherever the readers are
def shared_by_two_convolutions():
    nodes = [node("Conv", ["x", "W", "b"], ["c"]), node("Conv", ["c", "W", "b"], ["y"])]
    return nodes, {"W": normal(3, 3, 1, 1), "b": normal(3)}


def shared_along_two_axes():
    nodes = [node("Gemm", ["x", "W"], ["g"], transB=1), node("Gemm", ["g", "W"], ["y"])]
    return nodes, {"W": normal(6, 4)}


def shared_by_operators_of_other_kinds():
    nodes = [node("MatMul", ["x", "W"], ["m"]), node("Add", ["m", "W"], ["y"])]
    return nodes, {"W": normal(4, 4)}


def shared_with_a_body():
    body = helper.make_graph(
        [node("MatMul", ["x", "W"], ["in_body"])],
        "body",
        [],
        [helper.make_tensor_value_info("in_body", TensorProto.FLOAT, None)],
    )
    nodes = [
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Greater", ["sum", "zero"], ["positive"]),
        node("If", ["positive"], ["i"], then_branch=body, else_branch=renamed(body)),
        node("MatMul", ["x", "W"], ["m"]),
        node("Add", ["i", "m"], ["y"]),
    ]
    return nodes, {"W": normal(4, 4), "zero": np.array(0, np.float32)}


def renamed(body):
    other = type(body)()
    other.CopyFrom(body)
    other.node[0].output[0] = other.output[0].name = "in_other"
    return other


def bias_that_is_a_weight_elsewhere():
    nodes = [
        node("Gemm", ["x", "W", "b"], ["g"]),
        node("Mul", ["g", "b"], ["y"]),
    ]
    return nodes, {"W": normal(4, 4), "b": normal(4)}


@pytest.mark.parametrize("rules", ["default", PER_CHANNEL, "enpu_v7", "ort_cpu", "tensorrt"])
@pytest.mark.parametrize(
    ("make", "x"),
    [
        (shared_by_two_convolutions, [1, 3, 4, 4]),
        (shared_along_two_axes, [2, 4]),
        (shared_by_operators_of_other_kinds, [4, 4]),
        (shared_with_a_body, [4, 4]),
        (bias_that_is_a_weight_elsewhere, [2, 4]),
    ],
)
def test_a_shared_parameter_has_one_quantizer_that_acts_on_every_reader(make, x, rules):
    nodes, weights = make()
    model = build(nodes, {"x": x}, weights)
    feeds = samples(x=x)
    sim = simulate(model, feeds, config_file=rules)
    assert sim.param_names.count("W") == 1
    for quantizer in sim.qc_quantize_op_dict.values():
        quantizer.enabled = False
    weight = sim.qc_quantize_op_dict["W"]
    weight.enabled = True
    # The float model with the quantized weight in its place computes the same.
    twin = build(nodes, {"x": x}, {**weights, "W": weight.quantize_dequantize(weights["W"])})
    if make is not shared_with_a_body:  # bodies keep the float weight
        np.testing.assert_allclose(
            sim.session.run(None, feeds[0])[0],
            float_session(twin).run(None, feeds[0])[0],
            rtol=1e-5,
            atol=1e-5,
        )
