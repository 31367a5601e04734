"""Names of nodes and models that are used again."""

from __future__ import annotations

import numpy as np
import pytest

import bitsweep
from sessions import ONE_THREAD
from situations import build, node, normal, samples, simulate


# G06, and names of nodes that are missing or given twice
def test_nodes_with_missing_and_double_names_are_told_apart():
    model = build(
        [
            node("Conv", ["x", "W1", "bias"], ["a"], name="same"),
            node("Conv", ["x", "W2", "bias"], ["b"], name="same"),
            node("Add", ["a", "b"], ["c"]),
            node("Relu", ["c"], ["y"]),
        ],
        {"x": [1, 4, 8, 8]},
        {"W1": normal(4, 4, 3, 3), "W2": normal(4, 4, 3, 3), "bias": normal(4)},
        checked=False,
    )
    sim = bitsweep.QuantizationSimModel(model, session_options_kwargs=ONE_THREAD)
    sim.compute_encodings(samples(x=[1, 4, 8, 8]))
    names = [op.name for op in sim.operators]
    assert len(set(names)) == len(names) == 4
    assert all(names)


# G07
def test_two_simulators_and_an_analysis_of_one_model():
    model = build(
        [node("Conv", ["x", "W"], ["c"], name="conv"), node("Relu", ["c"], ["y"], name="relu")],
        {"x": [1, 3, 8, 8]},
        {"W": normal(4, 3, 3, 3)},
    )
    feeds = samples(x=[1, 3, 8, 8])
    first, second = simulate(model, feeds), simulate(model, feeds)
    assert list(first.qc_quantize_op_dict) == list(second.qc_quantize_op_dict)
    np.testing.assert_array_equal(
        first.session.run(None, feeds[0])[0], second.session.run(None, feeds[0])[0]
    )
    assert len(bitsweep.sweep(first, feeds).scores) == 3


# Names that the tool itself might want, and those that others would not use
@pytest.mark.parametrize(
    "taken",
    [
        "{}_updated",
        "{}_qdq",
        "{}_quantized",
        "{}_float",
        "{}_DequantizeLinear_Output",
        "bitsweep.raw/{}",
        "bitsweep.quantized/{}",
        "QcQuantizeOp_{}",
        "bitsweep.state",
        "a b/c:0 {}",
        "größe {}",
    ],
)
@pytest.mark.parametrize("as_output", [False, True])
def test_a_tensor_may_have_any_name(taken, as_output):
    weight = taken.format("W") if "{}" in taken else "W"
    inner, out = taken.format("x"), "y"
    if as_output:
        inner, out = "h", taken.format("x")
    model = build(
        [
            node("MatMul", ["x", weight], [inner], name=f"{taken} 1"),
            node("Relu", [inner], [out], name=f"{taken} 2"),
        ],
        {"x": [1, 4]},
        {weight: normal(4, 4)},
        [out],
    )
    sim = simulate(model, samples(x=[1, 4]))
    assert {"x", out} <= set(sim.qc_quantize_op_dict)
    assert sim.session.get_outputs()[0].name == out


# Nodes without a name get one that nobody else has
@pytest.mark.parametrize("name", ["", "relu", "/Relu", "/Relu_1"])
def test_generated_node_names_avoid_given_ones(name):
    model = build(
        [
            node("Relu", ["x"], ["a"]),
            node("Relu", ["a"], ["b"], name=name),
            node("Relu", ["b"], ["c"]),
            node("MatMul", ["c", "W"], ["y"], name="/Relu_2"),
        ],
        {"x": [1, 4]},
        {"W": normal(4, 4)},
    )
    sim = simulate(model, samples(x=[1, 4]))
    names = [op.name for op in sim.operators]
    assert len(set(names)) == 4
    assert all(names)
    assert "/Relu_2" in names
    assert not name or name in names
