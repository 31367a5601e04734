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


# Every recurrent operator in every direction, with and without states
@pytest.mark.parametrize("opset", [11, 14, 22])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_every_recurrent_operator_shares_its_grids(kind, gates, states, direction, opset):
    ways, hidden = 1 + (direction == "bidirectional"), 3
    weights = {
        "W": normal(ways, gates * hidden, 5) * 0.3,
        "R": normal(ways, gates * hidden, hidden) * 0.3,
        "b": normal(ways, 2 * gates * hidden) * 0.1,
    }
    inputs = ["x", "W", "R", "b"]
    if states:
        inputs += ["", "h0"]
        weights["h0"] = normal(ways, 2, hidden) * 0.1
        if kind == "LSTM":
            inputs.append("c0")
            weights["c0"] = normal(ways, 2, hidden) * 0.1
    outputs = ["y", "yh"] + (["yc"] if kind == "LSTM" else [])
    model = build(
        [node(kind, inputs, outputs, hidden_size=hidden, direction=direction, name="rnn")],
        {"x": [4, 2, 5]},
        weights,
        outputs,
        opset=opset,
    )
    sim = simulate(model, samples(x=[4, 2, 5]), config_file="htp_v81")
    quantizers = sim.qc_quantize_op_dict
    assert {"W", "R", "b"} <= set(sim.param_names)
    assert quantizers["W"].enabled
    assert quantizers["R"].enabled
    for tensor in ("yh", *(["h0"] if states else [])):
        assert quantizers[tensor] is quantizers["y"]
    if kind == "LSTM":
        assert quantizers["yc"] is not quantizers["y"]
        assert not states or quantizers["c0"] is quantizers["yc"]
