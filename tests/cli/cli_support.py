"""Small models for the command, and the type of the `run` fixture."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES = 6

Run = Callable[..., subprocess.CompletedProcess[str]]


def conv_net(channels: int = 4, blocks: int = 2) -> onnx.ModelProto:
    """image [n,3,8,8] -> Conv, Relu ... -> GlobalAveragePool -> logits [n,channels,1,1]."""
    random = np.random.default_rng(7)
    nodes = []
    weights = []
    tensor = "image"
    width = 3
    for block in range(blocks):
        weight = random.standard_normal((channels, width, 3, 3)).astype(np.float32) / 3
        weights.append(numpy_helper.from_array(weight, f"conv{block}.weight"))
        bias = random.standard_normal(channels).astype(np.float32)
        weights.append(numpy_helper.from_array(bias, f"conv{block}.bias"))
        nodes.append(
            helper.make_node(
                "Conv",
                [tensor, f"conv{block}.weight", f"conv{block}.bias"],
                [f"conv{block}.out"],
                name=f"conv{block}",
                pads=[1, 1, 1, 1],
            )
        )
        nodes.append(
            helper.make_node(
                "Relu", [f"conv{block}.out"], [f"relu{block}.out"], name=f"relu{block}"
            )
        )
        tensor = f"relu{block}.out"
        width = channels
    nodes.append(helper.make_node("GlobalAveragePool", [tensor], ["logits"], name="pool"))
    return finish(
        nodes,
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", channels, 1, 1])],
        weights,
    )


def two_input_net() -> onnx.ModelProto:
    """x [n,4] and mask [n,4] -> y = (x * mask) @ w [n,2]."""
    random = np.random.default_rng(8)
    return finish(
        [
            helper.make_node("Mul", ["x", "mask"], ["masked"], name="mul"),
            helper.make_node("MatMul", ["masked", "w"], ["y"], name="matmul"),
        ],
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4]),
            helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["n", 4]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(random.standard_normal((4, 2)).astype(np.float32), "w")],
    )


def cached_net() -> onnx.ModelProto:
    """x and past [n,16] -> logits = x @ logits.weight and cache = past @ cache.weight, as a language model has them."""
    random = np.random.default_rng(11)
    weights = {
        f"{name}.weight": random.standard_normal((16, 8)).astype(np.float32)
        for name in ("cache", "logits")
    }
    return finish(
        [
            helper.make_node("MatMul", [x, f"{name}.weight"], [name], name=f"{name}_product")
            for x, name in (("past", "cache"), ("x", "logits"))
        ],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["n", 16]) for x in ("x", "past")],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 8])
            for name in ("cache", "logits")
        ],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )


def detector_net() -> onnx.ModelProto:
    """x [64,4] -> y: a row for each position that scores above a threshold."""
    random = np.random.default_rng(10)
    weights = {
        "score.weight": random.standard_normal((4, 1)).astype(np.float32),
        "box.weight": random.standard_normal((4, 4)).astype(np.float32),
        "threshold": np.float32(0.1),
        "all": np.array([-1]),
    }
    return finish(
        [
            helper.make_node("MatMul", ["x", "score.weight"], ["score"], name="scores"),
            helper.make_node("Greater", ["score", "threshold"], ["over"], name="greater"),
            helper.make_node("Reshape", ["over", "all"], ["found"], name="reshape"),
            helper.make_node("MatMul", ["x", "box.weight"], ["box"], name="boxes"),
            helper.make_node("Compress", ["box", "found"], ["y"], name="compress", axis=0),
        ],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["found", 4])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )


def product_net() -> onnx.ModelProto:
    """x [n,40,240] -> y = x @ w [n,40,120]: ONNX Runtime splits such sums by its threads."""
    random = np.random.default_rng(9)
    return finish(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="matmul")],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 40, 240])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 40, 120])],
        [numpy_helper.from_array(random.standard_normal((240, 120)).astype(np.float32), "w")],
    )


def masked_net() -> onnx.ModelProto:
    """x [n,4] -> y = max(x @ w, -inf): a constant that has no finite value."""
    random = np.random.default_rng(8)
    return finish(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"], name="matmul"),
            helper.make_node("Max", ["h", "minus_infinity"], ["y"], name="max"),
        ],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        [
            numpy_helper.from_array(random.standard_normal((4, 2)).astype(np.float32), "w"),
            numpy_helper.from_array(np.array(-np.inf, np.float32), "minus_infinity"),
        ],
    )


def tied_net() -> onnx.ModelProto:
    """x [n,4] -> y = [x @ a.w, x @ b.w] @ c.w: both halves and the whole share a quantizer."""
    random = np.random.default_rng(3)
    sizes = {"a.w": (4, 4), "b.w": (4, 4), "c.w": (8, 4)}
    return finish(
        [
            helper.make_node("MatMul", ["x", "a.w"], ["a"], name="matmul_a"),
            helper.make_node("MatMul", ["x", "b.w"], ["b"], name="matmul_b"),
            helper.make_node("Concat", ["a", "b"], ["both"], name="concat", axis=1),
            helper.make_node("MatMul", ["both", "c.w"], ["y"], name="matmul_c"),
        ],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
        [
            numpy_helper.from_array(random.standard_normal(size).astype(np.float32), name)
            for name, size in sizes.items()
        ],
    )


def integer_net() -> onnx.ModelProto:
    """Nothing to quantize: y = x + x on integers."""
    return finish(
        [helper.make_node("Add", ["x", "x"], ["y"], name="add")],
        [helper.make_tensor_value_info("x", TensorProto.INT64, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, ["n", 4])],
        [],
    )


def finish(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    weights: list[onnx.TensorProto],
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "net", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model
