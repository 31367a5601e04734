"""The estimated least cost of a sweep, on graphs small enough to count by hand."""

import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from lower_bound import (
    MACS_PER_ACTIVATION,
    MACS_PER_NODE,
    MACS_PER_WEIGHT,
    RECURRENT_FACTOR,
    downstream_share,
)


def _model(nodes, outputs, initializers=()):
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        list(initializers),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


FEED = {"x": np.ones((2, 8), np.float32)}


def test_a_chain_of_equal_operators_halves():
    nodes = [helper.make_node("Relu", [f"t{i}" if i else "x"], [f"t{i + 1}"]) for i in range(4)]
    model = _model(nodes, ["t4"])
    # Behind x, t1, t2, t3, t4 lie 4, 3, 2, 1, 0 of 4 operators.
    assert downstream_share(model, FEED, ["x", "t1", "t2", "t3", "t4"]) == pytest.approx(0.5)


def test_a_branch_is_not_behind_its_sibling():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Relu", ["x"], ["b"]),
        helper.make_node("Neg", ["b"], ["c"]),
        helper.make_node("Add", ["a", "c"], ["y"]),
    ]
    model = _model(nodes, ["y"])
    unary = MACS_PER_NODE + 2 * 16 * MACS_PER_ACTIVATION
    add = unary + 16 * MACS_PER_ACTIVATION
    whole = 3 * unary + add
    assert downstream_share(model, FEED, ["a"]) == pytest.approx(add / whole)
    assert downstream_share(model, FEED, ["b"]) == pytest.approx((unary + add) / whole)


def test_weights_count_multiply_adds_from_their_reader_on():
    weight = numpy_helper.from_array(np.ones((8, 4), np.float32), "w")
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("MatMul", ["a", "w"], ["y"]),
    ]
    model = _model(nodes, ["y"], [weight])
    relu = MACS_PER_NODE + (2 * 8 + 2 * 8) * MACS_PER_ACTIVATION
    matmul = MACS_PER_NODE + (2 * 8 + 2 * 4) * MACS_PER_ACTIVATION + 8 * 4 * MACS_PER_WEIGHT
    matmul += 2 * 4 * 8
    assert downstream_share(model, FEED, ["w"]) == pytest.approx(matmul / (relu + matmul))


def test_a_recurrent_layer_multiplies_in_every_step():
    weights = {
        "w": np.ones((1, 16, 8), np.float32),
        "r": np.ones((1, 16, 4), np.float32),
        "axes": np.array([1]),
    }
    nodes = [
        helper.make_node("Unsqueeze", ["x", "axes"], ["steps"]),
        helper.make_node("LSTM", ["steps", "w", "r"], ["y"], hidden_size=4),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    model = _model(nodes, ["z"], [numpy_helper.from_array(v, k) for k, v in weights.items()])
    steps, gates = 2, 16 * 8 + 16 * 4
    lstm = MACS_PER_NODE + (2 * 8 + 2 * 4) * MACS_PER_ACTIVATION
    lstm += gates * MACS_PER_WEIGHT + RECURRENT_FACTOR * steps * gates
    relu = MACS_PER_NODE + (2 * 4 + 2 * 4) * MACS_PER_ACTIVATION
    whole = MACS_PER_NODE + lstm + relu
    assert downstream_share(model, FEED, ["w"]) == pytest.approx((lstm + relu) / whole)


def test_names_of_another_model_are_refused():
    model = _model([helper.make_node("Relu", ["x"], ["y"])], ["y"])
    with pytest.raises(SystemExit, match="no quantizer of the sweep is a tensor"):
        downstream_share(model, FEED, ["z"])


def test_the_model_is_not_changed():
    model = _model(
        [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])], ["y"]
    )
    before = model.SerializeToString()
    downstream_share(model, FEED, ["a"])
    assert model.SerializeToString() == before
