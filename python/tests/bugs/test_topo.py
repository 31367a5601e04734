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
