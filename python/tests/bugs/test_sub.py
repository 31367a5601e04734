"""Tensors inside the bodies of If, Loop and Scan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
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


@pytest.mark.parametrize("read_outside", [True, False])
def test_a_branch_reads_what_everybody_reads(read_outside):
    """A quantized tensor has one value; an input that only branches read has no quantizer that is on."""
    then, other = branch("t", np.eye(8, dtype=np.float32)), branch("e", normal(8, 8))
    nodes = [node("If", ["cond"], ["y"], then_branch=then, else_branch=other)]
    if read_outside:
        nodes.append(node("Neg", ["x"], ["n"]))
    model = build(
        nodes,
        {"x": [1, 8]},
        {"cond": np.array(True)},
        ["y", "n"] if read_outside else ["y"],
    )
    (feed,) = samples(1, x=[1, 8])
    sim = simulate(model, [feed])
    quantizers = sim.qc_quantize_op_dict
    assert quantizers["x"].enabled == read_outside
    quantizers["y"].enabled = False
    expected = quantizers["x"].quantize_dequantize(feed["x"]) if read_outside else feed["x"]
    np.testing.assert_allclose(sim.session.run(None, feed)[0], expected, rtol=1e-6)


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


# Every kind of body, nested ones too: it runs, the outer weights stay, each tensor inside is listed
def scalar(name: str, element: int) -> Any:
    return helper.make_tensor_value_info(name, element, [])


def loop(nodes: list, carried: str, made: str, weights: dict | None = None) -> Any:
    body = helper.make_graph(
        [*nodes, node("Identity", ["go"], ["go_on"])],
        "loop",
        [
            scalar("i", TensorProto.INT64),
            scalar("go", TensorProto.BOOL),
            helper.make_tensor_value_info(carried, TensorProto.FLOAT, [2, 4]),
        ],
        [
            scalar("go_on", TensorProto.BOOL),
            helper.make_tensor_value_info(made, TensorProto.FLOAT, [2, 4]),
        ],
        [numpy_helper.from_array(value, name) for name, value in (weights or {}).items()],
    )
    return node("Loop", ["three", "yes", "x"], ["looped"], body=body, name="loop")


def choice(name: str, nodes: list, made: str) -> Any:
    out = [helper.make_tensor_value_info(made, TensorProto.FLOAT, [2, 4])]
    then = helper.make_graph(nodes, f"{name}.then", [], out)
    other = helper.make_graph([node("Identity", ["x"], [f"{made}.else"])], f"{name}.else", [], [
        helper.make_tensor_value_info(f"{made}.else", TensorProto.FLOAT, [2, 4])
    ])  # fmt: skip
    return node("If", ["yes"], [f"{made}.chosen"], then_branch=then, else_branch=other, name=name)


def loop_with_own_weights():
    return loop([node("MatMul", ["s", "V"], ["r"])], "s", "r", {"V": normal(4, 4) * 0.3}), [
        "V",
        "r",
    ]


def loop_with_outer_weights():
    return loop([node("MatMul", ["s", "W"], ["m"]), node("Tanh", ["m"], ["r"])], "s", "r"), [
        "m",
        "r",
    ]


def if_inside_loop():
    inner = choice("inner", [node("MatMul", ["s", "W"], ["deep"])], "deep")
    return loop([inner, node("Tanh", ["deep.chosen"], ["r"])], "s", "r"), ["deep", "r"]


def constant_inside_loop():
    value = numpy_helper.from_array(np.full((4,), 0.5, np.float32))
    nodes = [node("Constant", [], ["half"], value=value), node("Mul", ["s", "half"], ["r"])]
    return loop(nodes, "s", "r"), ["half", "r"]


def scan(nodes: list, weights: dict | None = None) -> Any:
    body = helper.make_graph(
        nodes,
        "scan",
        [
            helper.make_tensor_value_info("s", TensorProto.FLOAT, [2, 4]),
            helper.make_tensor_value_info("step", TensorProto.FLOAT, [4]),
        ],
        [helper.make_tensor_value_info("r", TensorProto.FLOAT, [2, 4])],
        [numpy_helper.from_array(value, name) for name, value in (weights or {}).items()],
    )
    return node("Scan", ["x", "x"], ["looped"], body=body, num_scan_inputs=1, name="scan")


def scan_with_own_weights():
    nodes = [node("MatMul", ["s", "V"], ["m"]), node("Add", ["m", "step"], ["r"])]
    return scan(nodes, {"V": normal(4, 4) * 0.3}), ["V", "m", "r"]


def scan_with_outer_weights():
    nodes = [node("MatMul", ["s", "W"], ["m"]), node("Add", ["m", "step"], ["r"])]
    return scan(nodes), ["m", "r"]


def if_inside_scan():
    inner = choice("inner", [node("MatMul", ["s", "W"], ["deep"])], "deep")
    return scan([inner, node("Add", ["deep.chosen", "step"], ["r"])]), ["deep", "r"]


@pytest.mark.parametrize(
    "make",
    [
        loop_with_own_weights,
        loop_with_outer_weights,
        if_inside_loop,
        constant_inside_loop,
        scan_with_own_weights,
        scan_with_outer_weights,
        if_inside_scan,
    ],
)
@pytest.mark.parametrize("opset", [11, 13, 21])
def test_every_tensor_in_a_body_is_listed_and_outer_weights_stay(make, opset):
    body, inside = make()
    model = build(
        [
            node("MatMul", ["x", "W"], ["m0"]),
            body,
            node("Add", ["looped", "m0"], ["sum"]),
            node("Reshape", ["sum", "shape"], ["y"]),
        ],
        {"x": [2, 4]},
        {
            "W": normal(4, 4) * 0.3,
            "three": np.array(3),
            "yes": np.array(True),
            "shape": np.array([2, 4]),
        },
        opset=opset,
    )
    listed = rows(simulate(model, samples(x=[2, 4])))
    assert listed["W"].status == "quantized"
    for tensor in inside:
        assert listed[tensor].status == "float"
        assert "inside the body" in listed[tensor].reason
