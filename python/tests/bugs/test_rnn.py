"""Recurrent operators."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import numpy_helper

from situations import build, node, normal, rows, samples, simulate


# G26
@pytest.mark.parametrize("from_constants", [False, True])
def test_two_recurrent_layers(from_constants):
    nodes, weights, x = [], {}, "x"
    for k, size in enumerate((10, 20)):
        for name, shape in {"W": (80, size), "R": (80, 20), "B": (160,)}.items():
            value = normal(*shape) * np.float32(0.2)
            if from_constants:
                nodes += [
                    node("Constant", [], [f"{name}{k}.flat"], value=numpy_helper.from_array(value)),
                    node("Unsqueeze", [f"{name}{k}.flat", "axis"], [f"{name}{k}"]),
                ]
                weights["axis"] = np.array([0])
            else:
                weights[f"{name}{k}"] = value[np.newaxis]
        weights |= {
            f"h{k}": np.zeros((1, 1, 20), np.float32),
            f"c{k}": np.zeros((1, 1, 20), np.float32),
        }
        out = "y" if k else "mid"
        nodes.append(
            node(
                "LSTM",
                [x, f"W{k}", f"R{k}", f"B{k}", "", f"h{k}", f"c{k}"],
                [f"Y{k}"],
                hidden_size=20,
                name=f"lstm{k}",
            )
        )
        nodes.append(node("Squeeze", [f"Y{k}", "one"], [out]))
        x = out
    model = build(nodes, {"x": [5, 1, 10]}, {**weights, "one": np.array([1])})
    sim = simulate(model, samples(x=[5, 1, 10]))
    report = rows(sim)
    for k in (0, 1):
        for name in ("W", "R"):
            found = [report[t] for t in (f"{name}{k}", f"{name}{k}.flat") if t in report]
            assert any(r.status == "quantized" for r in found), (name, k)
    assert {"lstm0", "lstm1"} <= {op.name for op in sim.operators}
