"""Where quantizers sit in the graph: inputs, layout operators, dead ends."""

from __future__ import annotations

import numpy as np
import pytest

import bitsweep
from situations import build, node, normal, rows, samples, simulate


# G49
@pytest.mark.parametrize("kind", ["Sum", "Add", "Max", "Concat"])
def test_graph_inputs_that_meet_first_are_quantized(kind):
    attributes = {"axis": 1} if kind == "Concat" else {}
    model = build(
        [node(kind, ["a", "b"], ["s"], **attributes), node("Relu", ["s"], ["y"])],
        {"a": [1, 8], "b": [1, 8]},
        {},
    )
    report = rows(simulate(model, samples(a=[1, 8], b=[1, 8])))
    for tensor in ("a", "b"):
        assert report[tensor].status in ("quantized", "tied"), tensor
    assert report["s"].status == "quantized" or report["s"].reason


# G50
def test_layout_operators_share_one_quantizer():
    model = build(
        [
            node("Conv", ["x", "W1"], ["c"]),
            node("Reshape", ["c", "shape"], ["r"]),
            node("Transpose", ["r"], ["t"], perm=[0, 2, 1]),
            node("Unsqueeze", ["t", "axis"], ["u"]),
            node("Conv", ["u", "W2"], ["y"]),
        ],
        {"x": [1, 3, 6, 6]},
        {
            "W1": normal(4, 3, 3, 3),
            "W2": normal(2, 1, 3, 3),
            "shape": np.array([1, 4, 16]),
            "axis": np.array([1]),
        },
    )
    sim = simulate(model, samples(x=[1, 3, 6, 6]))
    between = {
        id(sim.qc_quantize_op_dict[t].native)
        for t in ("c", "r", "t", "u")
        if t in sim.qc_quantize_op_dict and sim.qc_quantize_op_dict[t].enabled
    }
    assert len(between) == 1


# G51
def test_dead_tensors_are_listed_once_and_never_swept():
    model = build(
        [
            node("MatMul", ["x", "W"], ["y"]),
            node("Relu", ["x"], ["dead"]),
            node("MatMul", ["dead", "V"], ["deader"]),
        ],
        {"x": [1, 8]},
        {"W": normal(8, 4), "V": normal(8, 4), "unused": np.arange(4), "large": normal(512, 512)},
        checked=False,
    )
    feeds = samples(x=[1, 8])
    sim = simulate(model, feeds)
    assert rows(sim)["large"].reason == "nobody reads it"
    for tensor in ("dead", "deader", "V"):
        assert rows(sim)[tensor].reason == "no output of the model needs it"
    assert set(sim.qc_quantize_op_dict) == {"x", "W", "y"}
    assert {s.name for s in bitsweep.sweep(sim, feeds).scores} == {"x", "W", "y"}


# Graphs at the edge: nothing to do, an input that is an output, one tensor read twice, outputs in the middle
def an_input_that_is_an_output():
    return [node("Relu", ["x"], ["y"])], ["x", "y"]


def nothing_but_an_identity():
    return [node("Identity", ["x"], ["y"])], ["y"]


def one_tensor_on_both_sides():
    return [node("Mul", ["x", "x"], ["h"]), node("Add", ["h", "h"], ["y"])], ["y"]


def an_output_in_the_middle():
    nodes = [node("Tanh", ["x"], ["h"]), node("Relu", ["h"], ["r"]), node("Neg", ["r"], ["y"])]
    return nodes, ["y", "h", "r"]


def outputs_through_layout_operators():
    nodes = [
        node("Tanh", ["x"], ["h"]),
        node("Transpose", ["h"], ["t"]),
        node("Flatten", ["t"], ["y"]),
    ]
    return nodes, ["y", "t"]


def a_diamond_of_identities():
    nodes = [
        node("Identity", ["x"], ["a"]),
        node("Identity", ["x"], ["b"]),
        node("Concat", ["a", "b"], ["y"], axis=0),
    ]
    return nodes, ["y", "a"]


def nodes_out_of_order_in_names():
    nodes = [node("Tanh", ["x"], ["z"]), node("Neg", ["z"], ["a"]), node("Abs", ["a"], ["y"])]
    return nodes, ["a", "y"]


@pytest.mark.parametrize(
    "make",
    [
        an_input_that_is_an_output,
        nothing_but_an_identity,
        one_tensor_on_both_sides,
        an_output_in_the_middle,
        outputs_through_layout_operators,
        a_diamond_of_identities,
        nodes_out_of_order_in_names,
    ],
)
@pytest.mark.parametrize("rules", ["default", "htp_v66", "htp_v81", "enpu_v6", "ort_cpu"])
def test_graphs_at_the_edge_are_simulated(make, rules):
    nodes, outputs = make()
    model = build(nodes, {"x": [2, 4]}, {}, outputs, output_shape=[2, 4])
    feeds = samples(x=[2, 4])
    sim = simulate(model, feeds, config_file=rules)
    assert [o.name for o in sim.session.get_outputs()] == outputs
    assert all(r.reason for r in sim.describe())
    on = {name for name, q in sim.qc_quantize_op_dict.items() if q.enabled}
    if on:
        assert {s.name for s in bitsweep.sweep(sim, feeds, progress=False).scores} <= on
