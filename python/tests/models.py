"""Small ONNX models of the kinds that people quantize, with fixed weights, and samples for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray


@dataclass
class Graph:
    """Collects nodes and weights; each method adds one layer and returns its output's name."""

    seed: int = 0
    nodes: list[Any] = field(default_factory=list)
    weights: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def weight(self, name: str, *shape: int, scale: float | None = None) -> str:
        fan_in = max(1, int(np.prod(shape[1:], initial=1)))
        scale = 1.0 / np.sqrt(fan_in) if scale is None else scale
        return self.constant(name, self.rng.normal(0.0, scale, shape).astype(np.float32))

    def constant(self, name: str, value: Array) -> str:
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def op(
        self, kind: str, inputs: list[str], name: str, num_outputs: int = 1, **attributes: Any
    ) -> str:
        outputs = [f"{name}.out" + (str(i) if i else "") for i in range(num_outputs)]
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=name, **attributes))
        return outputs[0]

    def conv(
        self, x: str, cin: int, cout: int, name: str, k: int = 3, group: int = 1, stride: int = 1
    ) -> str:
        w = self.weight(f"{name}.weight", cout, cin // group, k, k)
        b = self.weight(f"{name}.bias", cout, scale=0.1)
        return self.op(
            "Conv",
            [x, w, b],
            name,
            kernel_shape=[k, k],
            pads=[k // 2] * 4,
            strides=[stride] * 2,
            group=group,
        )

    def gemm(self, x: str, cin: int, cout: int, name: str) -> str:
        w = self.weight(f"{name}.weight", cout, cin)
        b = self.weight(f"{name}.bias", cout, scale=0.1)
        return self.op("Gemm", [x, w, b], name, transB=1)

    def linear(self, x: str, cin: int, cout: int, name: str) -> str:
        """MatMul and Add, as exporters write a linear layer on sequences."""
        w = self.constant(
            f"{name}.weight", self.rng.normal(0, cin**-0.5, (cin, cout)).astype(np.float32)
        )
        b = self.weight(f"{name}.bias", cout, scale=0.1)
        return self.op("Add", [self.op("MatMul", [x, w], f"{name}.matmul"), b], f"{name}.add")

    def layer_norm(self, x: str, size: int, name: str) -> str:
        scale = self.constant(
            f"{name}.weight", (1 + 0.1 * self.rng.normal(size=size)).astype(np.float32)
        )
        bias = self.weight(f"{name}.bias", size, scale=0.1)
        return self.op("LayerNormalization", [x, scale, bias], name, axis=-1)

    def model(
        self, inputs: dict[str, tuple], outputs: dict[str, str], types: dict[str, int] | None = None
    ) -> onnx.ModelProto:
        """`outputs`: name of a graph output to the tensor that becomes it."""
        rename = {tensor: name for name, tensor in outputs.items()}
        for node in self.nodes:
            node.input[:] = [rename.get(t, t) for t in node.input]
            node.output[:] = [rename.get(t, t) for t in node.output]
        types = types or {}
        graph = helper.make_graph(
            self.nodes,
            "g",
            [
                helper.make_tensor_value_info(n, types.get(n, TensorProto.FLOAT), list(s))
                for n, s in inputs.items()
            ],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        del model.graph.value_info[:]
        onnx.checker.check_model(model)
        return model


@dataclass(frozen=True)
class Example:
    """A model and its samples."""

    name: str
    model: onnx.ModelProto
    feeds: list[dict[str, Array]]


def _feeds(
    num: int, make: Callable[[np.random.Generator], dict[str, Array]]
) -> list[dict[str, Array]]:
    return [make(np.random.default_rng(100 + i)) for i in range(num)]


def normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(size=shape).astype(np.float32)


def cnn() -> Example:
    g = Graph(1)
    x = g.op("Relu", [g.conv("x", 3, 8, "conv1", stride=2)], "relu1")
    x = g.op("MaxPool", [x], "pool1", kernel_shape=[2, 2], strides=[2, 2])
    x = g.op("Relu", [g.conv(x, 8, 16, "conv2")], "relu2")
    x = g.op("Relu", [g.conv(x, 16, 16, "conv3")], "relu3")
    x = g.op("GlobalAveragePool", [x], "gap")
    x = g.op("Flatten", [x], "flatten", axis=1)
    y = g.gemm(x, 16, 100, "fc")
    return Example(
        "cnn",
        g.model({"x": (1, 3, 24, 24)}, {"y": y}),
        _feeds(3, lambda r: {"x": normal(r, 1, 3, 24, 24)}),
    )


def depthwise() -> Example:
    g = Graph(2)
    low, high = g.constant("zero", np.float32(0)), g.constant("six", np.float32(6))
    x = g.op("Clip", [g.conv("x", 3, 8, "stem", stride=2), low, high], "stem.act")
    for i, (cin, cout) in enumerate([(8, 16), (16, 16), (16, 24)]):
        x = g.op("Clip", [g.conv(x, cin, cin, f"b{i}.dw", group=cin), low, high], f"b{i}.act")
        x = g.conv(x, cin, cout, f"b{i}.pw", k=1)
    x = g.op("Flatten", [g.op("GlobalAveragePool", [x], "gap")], "flatten", axis=1)
    y = g.gemm(x, 24, 100, "fc")
    return Example(
        "depthwise",
        g.model({"x": ("batch", 3, 20, 20)}, {"y": y}),
        _feeds(2, lambda r: {"x": normal(r, 2, 3, 20, 20)}),
    )


def residual() -> Example:
    g = Graph(3)
    x = g.op("Relu", [g.conv("x", 3, 8, "stem")], "stem.relu")
    for i in range(3):
        y = g.op("Relu", [g.conv(x, 8, 8, f"b{i}.conv1")], f"b{i}.relu1")
        y = g.conv(y, 8, 8, f"b{i}.conv2")
        x = g.op("Relu", [g.op("Add", [x, y], f"b{i}.add")], f"b{i}.relu2")
    x = g.op("Flatten", [g.op("GlobalAveragePool", [x], "gap")], "flatten", axis=1)
    y = g.gemm(x, 8, 100, "fc")
    return Example(
        "residual",
        g.model({"x": (1, 3, 12, 12)}, {"y": y}),
        _feeds(3, lambda r: {"x": normal(r, 1, 3, 12, 12)}),
    )


def _attention(g: Graph, x: str, size: int, heads: int, name: str) -> str:
    shape = g.constant(f"{name}.split", np.array([0, 0, heads, size // heads], np.int64))
    back = g.constant(f"{name}.join", np.array([0, 0, size], np.int64))
    parts = []
    for part, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        p = g.op(
            "Reshape",
            [g.linear(x, size, size, f"{name}.{part}_proj"), shape],
            f"{name}.{part}_heads",
        )
        parts.append(g.op("Transpose", [p], f"{name}.{part}_t", perm=perm))
    scores = g.op("MatMul", parts[:2], f"{name}.scores")
    scores = g.op(
        "Div",
        [scores, g.constant(f"{name}.root", np.float32((size // heads) ** 0.5))],
        f"{name}.scale",
    )
    mixed = g.op(
        "MatMul", [g.op("Softmax", [scores], f"{name}.softmax", axis=-1), parts[2]], f"{name}.mix"
    )
    mixed = g.op(
        "Reshape",
        [g.op("Transpose", [mixed], f"{name}.t", perm=[0, 2, 1, 3]), back],
        f"{name}.heads",
    )
    return g.linear(mixed, size, size, f"{name}.o_proj")


def transformer() -> Example:
    g, size = Graph(4), 16
    table = g.weight("embedding", 50, size, scale=1.0)
    x = g.op("Gather", [table, "ids"], "embed")
    for i in range(2):
        x = g.layer_norm(
            g.op("Add", [x, _attention(g, x, size, 2, f"l{i}.attn")], f"l{i}.add1"),
            size,
            f"l{i}.norm1",
        )
        h = g.linear(x, size, 4 * size, f"l{i}.up_proj")
        h = g.op("Mul", [h, g.op("Sigmoid", [h], f"l{i}.sigmoid")], f"l{i}.silu")
        h = g.linear(h, 4 * size, size, f"l{i}.down_proj")
        x = g.layer_norm(g.op("Add", [x, h], f"l{i}.add2"), size, f"l{i}.norm2")
    y = g.linear(x, size, 50, "lm_head")
    model = g.model({"ids": ("batch", "length")}, {"logits": y}, {"ids": TensorProto.INT64})
    lengths = iter([5, 7, 4])
    return Example(
        "transformer", model, _feeds(3, lambda r: {"ids": r.integers(0, 50, (1, next(lengths)))})
    )


def branchy() -> Example:
    g = Graph(5)
    x = g.op("Relu", [g.conv("x", 3, 8, "stem")], "stem.relu")
    a = g.op("Relu", [g.conv(x, 8, 4, "a.conv", k=1)], "a.relu")
    b = g.op(
        "Relu",
        [g.conv(g.op("Relu", [g.conv(x, 8, 4, "b.conv1", k=1)], "b.relu1"), 4, 8, "b.conv2")],
        "b.relu2",
    )
    c = g.conv(
        g.op("AveragePool", [x], "c.pool", kernel_shape=[3, 3], pads=[1] * 4), 8, 4, "c.conv", k=1
    )
    x = g.op("Concat", [a, b, c], "concat", axis=1)
    down = g.op("Relu", [g.conv(x, 16, 16, "down", stride=2)], "down.relu")
    scales = g.constant("scales", np.array([1, 1, 2, 2], np.float32))
    up = g.op(
        "Resize",
        [down, "", scales],
        "up",
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    y = g.conv(g.op("Concat", [x, up], "skip", axis=1), 32, 2, "head", k=1)
    return Example(
        "branchy",
        g.model({"x": (1, 3, 12, 12)}, {"y": y}),
        _feeds(2, lambda r: {"x": normal(r, 1, 3, 12, 12)}),
    )


def multi_input() -> Example:
    g = Graph(6)
    a = g.op("Relu", [g.gemm("image", 12, 16, "image_fc")], "image_relu")
    b = g.op("Tanh", [g.gemm("text", 8, 16, "text_fc")], "text_tanh")
    gate = g.op("Sigmoid", [g.gemm("gate", 4, 16, "gate_fc")], "gate_sigmoid")
    x = g.op("Add", [g.op("Mul", [a, gate], "gated"), b], "join")
    y = g.gemm(g.op("Relu", [g.gemm(x, 16, 16, "mix")], "mix_relu"), 16, 40, "out")
    model = g.model({"image": (1, 12), "text": (1, 8), "gate": (1, 4)}, {"y": y})
    return Example(
        "multi_input",
        model,
        _feeds(
            3,
            lambda r: {"image": normal(r, 1, 12), "text": normal(r, 1, 8), "gate": normal(r, 1, 4)},
        ),
    )


def multi_output() -> Example:
    g = Graph(7)
    x = g.op("Relu", [g.conv("x", 3, 8, "stem", stride=2)], "stem.relu")
    boxes = g.conv(g.op("Relu", [g.conv(x, 8, 8, "box1")], "box1.relu"), 8, 4, "box2", k=1)
    x = g.op("Relu", [g.conv(x, 8, 8, "body")], "body.relu")
    flat = g.op("Flatten", [g.op("GlobalAveragePool", [x], "gap")], "flatten", axis=1)
    classes = g.gemm(flat, 8, 6, "classes_fc")
    model = g.model({"x": (1, 3, 16, 16)}, {"boxes": boxes, "classes": classes, "features": x})
    return Example("multi_output", model, _feeds(2, lambda r: {"x": normal(r, 1, 3, 16, 16)}))


def recurrent() -> Example:
    g, size = Graph(8), 8
    x = "x"
    for i, width in enumerate((6, size)):
        w, r = (
            g.weight(f"lstm{i}.w", 1, 4 * size, width, scale=0.4),
            g.weight(f"lstm{i}.r", 1, 4 * size, size, scale=0.4),
        )
        b = g.weight(f"lstm{i}.b", 1, 8 * size, scale=0.1)
        x = g.op("LSTM", [x, w, r, b], f"lstm{i}", hidden_size=size)
        x = g.op("Squeeze", [x, g.constant(f"axis{i}", np.array([1], np.int64))], f"squeeze{i}")
    y = g.linear(x, size, 5, "head")
    return Example(
        "recurrent",
        g.model({"x": (4, 1, 6)}, {"y": y}),
        _feeds(3, lambda r: {"x": normal(r, 4, 1, 6)}),
    )


ALL = {
    f.__name__: f
    for f in (cnn, depthwise, residual, transformer, branchy, multi_input, multi_output, recurrent)
}


def convolutions(count: int, weight_shift: float = 0.0, sample_shift: float = 0.0) -> Example:
    """Conv and Relu, again and again; optionally with one weight or one sample changed."""
    g = Graph(21)
    x, channels = "x", 3
    for i in range(count):
        x = g.op("Relu", [g.conv(x, channels, 8, f"conv{i}")], f"relu{i}")
        channels = 8
    y = g.op("Flatten", [g.op("GlobalAveragePool", [x], "gap")], "flatten", axis=1)
    model = g.model({"x": (1, 3, 12, 12)}, {"y": y})
    weight = next(t for t in model.graph.initializer if t.name == "conv1.weight")
    values = numpy_helper.to_array(weight).copy()
    values.flat[0] += weight_shift
    weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    feeds = [{"x": normal(np.random.default_rng(i), 1, 3, 12, 12)} for i in range(3)]
    feeds[2]["x"].flat[0] += sample_shift
    return Example("convolutions", model, feeds)
