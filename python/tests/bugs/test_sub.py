"""Tensors inside the bodies of If, Loop and Scan."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from situations import build, node, normal, rows, samples, simulate


def branch(name: str, weight: np.ndarray) -> Any:
    return helper.make_graph(
        [node("MatMul", ["x", f"{name}.W"], [f"{name}.y"], name=f"{name}.matmul")],
        name,
        [],
        [helper.make_tensor_value_info(f"{name}.y", TensorProto.FLOAT, [1, 8])],
        [numpy_helper.from_array(weight, f"{name}.W")],
    )


# G08
def test_tensors_inside_branches_are_quantized_or_listed():
    model = build(
        [
            node(
                "If",
                ["cond"],
                ["y"],
                then_branch=branch("t", normal(8, 8)),
                else_branch=branch("e", normal(8, 8)),
            )
        ],
        {"x": [1, 8], "cond": []},
        {},
        input_types={"cond": TensorProto.BOOL},
    )
    feeds = [{"x": normal(1, 8), "cond": np.array(k % 2 == 0)} for k in range(4)]
    listed = rows(simulate(model, feeds))
    for name in ("t.W", "e.W", "t.y", "e.y"):
        found = [
            r
            for t, r in listed.items()
            if t == name or t.endswith(f"/{name}") or t.endswith(f".{name}")
        ]
        assert found, name
        assert all(r.status != "float" or r.reason for r in found)


# G09
def test_a_weight_read_by_a_scan_body_and_outside():
    body = helper.make_graph(
        [
            node("MatMul", ["s", "W"], ["s2"]),
            node("Add", ["s2", "step"], ["next"]),
            node("Identity", ["next"], ["out"]),
        ],
        "body",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in ("s", "step")],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in ("next", "out")],
    )
    model = build(
        [
            node("Gemm", ["x0", "W"], ["g"], transB=1),
            node("Scan", ["g", "steps"], ["last", "y"], body=body, num_scan_inputs=1),
        ],
        {"x0": [1, 4], "steps": [5, 1, 4]},
        {"W": normal(4, 4) * 0.3},
    )
    sim = simulate(model, samples(x0=[1, 4], steps=[5, 1, 4]))
    assert rows(sim)["W"].status == "quantized"
