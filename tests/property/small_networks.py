"""Small float networks of every shape that a sweep has to cope with, with seeded random weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Feed = dict[str, np.ndarray]


@dataclass(frozen=True)
class Network:
    model: onnx.ModelProto
    input_shapes: dict[str, tuple[int, ...]]
    own_feeds: Callable[[int, int], list[Feed]] | None = None  # of other shapes

    def feeds(self, count: int, seed: int) -> list[Feed]:
        if self.own_feeds is not None:
            return self.own_feeds(count, seed)
        random = np.random.default_rng(seed)
        types = {value.name: value.type.tensor_type.elem_type for value in self.model.graph.input}
        return [
            {
                name: random.standard_normal(shape).astype(
                    helper.tensor_dtype_to_np_dtype(types[name])
                )
                for name, shape in self.input_shapes.items()
            }
            for _ in range(count)
        ]


class Graph:
    """Collects nodes and weights; every method returns the name of the tensor it makes."""

    def __init__(self, seed: int, dtype: type = np.float32, **inputs: tuple[int, ...]) -> None:
        self.random = np.random.default_rng(seed)
        self.dtype = np.dtype(dtype)
        self.inputs = inputs
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def op(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        number = len(self.nodes)
        names = [f"t{number}_{op_type}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(
            helper.make_node(
                op_type, list(inputs), names, name=f"n{number}_{op_type}", **attributes
            )
        )
        return names[0] if outputs == 1 else names

    def constant(self, value: Any) -> str:
        name = f"w{len(self.initializers)}"
        array = np.asarray(value)
        if array.dtype == np.float32:
            array = array.astype(self.dtype)
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, *shape: int, scale: float | None = None) -> str:
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        spread = np.sqrt(2.0 / fan_in) if scale is None else scale
        return self.constant((self.random.standard_normal(shape) * spread).astype(np.float32))

    def conv(
        self, x: str, inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1
    ) -> str:
        weight = self.weight(outputs, inputs // groups, kernel, kernel)
        return self.op(
            "Conv",
            x,
            weight,
            self.weight(outputs, scale=0.1),
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[kernel // 2] * 4,
            group=groups,
        )

    def batch_norm(self, x: str, channels: int) -> str:
        positive = [
            self.constant(self.random.uniform(0.5, 1.5, channels).astype(np.float32))
            for _ in range(2)
        ]
        around_zero = [self.weight(channels, scale=0.2) for _ in range(2)]
        return self.op("BatchNormalization", x, positive[0], *around_zero, positive[1])

    def relu6(self, x: str) -> str:
        return self.op("Clip", x, self.constant(np.float32(0)), self.constant(np.float32(6)))

    def dense(self, x: str, inputs: int, outputs: int) -> str:
        weight = self.weight(outputs, inputs)
        return self.op("Gemm", x, weight, self.weight(outputs, scale=0.1), transB=1)

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        weight = self.weight(inputs, outputs, scale=float(np.sqrt(1.0 / inputs)))
        return self.op("Add", self.op("MatMul", x, weight), self.weight(outputs, scale=0.1))

    def layer_norm(self, x: str, width: int) -> str:
        scale = self.constant(self.random.uniform(0.5, 1.5, width).astype(np.float32))
        return self.op("LayerNormalization", x, scale, self.weight(width, scale=0.1), axis=-1)

    def pooled(self, x: str) -> str:
        return self.op("Flatten", self.op("GlobalAveragePool", x), axis=1)

    def network(
        self,
        *outputs: str,
        functions: Sequence[onnx.FunctionProto] = (),
        open_axes: dict[str, dict[int, str]] | None = None,
    ) -> Network:
        """The batch is always open; `open_axes`: further ones, by input."""
        element = helper.np_dtype_to_tensor_dtype(self.dtype)
        opened = open_axes or {}
        graph = helper.make_graph(
            self.nodes,
            "small",
            [
                helper.make_tensor_value_info(
                    name,
                    element,
                    [({0: "batch"} | opened.get(name, {})).get(i, n) for i, n in enumerate(shape)],
                )
                for name, shape in self.inputs.items()
            ],
            [helper.make_tensor_value_info(name, element, None) for name in outputs],
            self.initializers,
        )
        opsets = [helper.make_opsetid("", 17)] + [
            helper.make_opsetid(f.domain, 1) for f in functions
        ]
        model = helper.make_model(
            graph, opset_imports=opsets, functions=list(functions), ir_version=8
        )
        # Fills in the shapes of the outputs.
        return Network(onnx.shape_inference.infer_shapes(model, strict_mode=True), self.inputs)


def plain_cnn() -> Network:
    g = Graph(1, image=(1, 3, 16, 16))
    x = g.op("Relu", g.batch_norm(g.conv("image", 3, 8), 8))
    x = g.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = g.op("Relu", g.conv(x, 8, 16))
    x = g.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = g.op("Relu", g.conv(x, 16, 16))
    return g.network(g.dense(g.pooled(x), 16, 10))


def depthwise() -> Network:
    """Inverted residuals with batch norms left in."""
    g = Graph(2, image=(1, 3, 16, 16))
    x = g.relu6(g.batch_norm(g.conv("image", 3, 8, stride=2), 8))
    for _ in range(3):
        y = g.relu6(g.batch_norm(g.conv(x, 8, 24, kernel=1), 24))
        y = g.relu6(g.batch_norm(g.conv(y, 24, 24, groups=24), 24))
        x = g.op("Add", x, g.batch_norm(g.conv(y, 24, 8, kernel=1), 8))
    return g.network(g.dense(g.pooled(x), 8, 10))


def residual() -> Network:
    g = Graph(3, image=(1, 3, 16, 16))
    x = g.op("Relu", g.conv("image", 3, 8))
    channels = 8
    for outputs, stride in ((8, 1), (16, 2), (16, 1)):
        y = g.op("Relu", g.conv(x, channels, outputs, stride=stride))
        y = g.conv(y, outputs, outputs)
        if stride != 1:
            x = g.conv(x, channels, outputs, kernel=1, stride=stride)
        x = g.op("Relu", g.op("Add", y, x))
        channels = outputs
    return g.network(g.dense(g.pooled(x), 16, 10))


def transformer() -> Network:
    """Two encoder blocks: attention with four heads, GELU by Erf, LayerNormalization after each sum."""
    width, heads, tokens = 32, 4, 12
    g = Graph(4, embedding=(1, tokens, width))
    x = g.layer_norm("embedding", width)
    split = g.constant(np.array([0, 0, heads, width // heads], np.int64))
    merged = g.constant(np.array([0, 0, width], np.int64))
    for _ in range(2):
        q, k, v = (g.op("Reshape", g.linear(x, width, width), split) for _ in range(3))
        scores = g.op(
            "MatMul",
            g.op("Transpose", q, perm=[0, 2, 1, 3]),
            g.op("Transpose", k, perm=[0, 2, 3, 1]),
        )
        weights = g.op("Softmax", g.op("Div", scores, g.constant(np.float32(np.sqrt(8)))), axis=-1)
        mixed = g.op("MatMul", weights, g.op("Transpose", v, perm=[0, 2, 1, 3]))
        mixed = g.op("Reshape", g.op("Transpose", mixed, perm=[0, 2, 1, 3]), merged)
        x = g.layer_norm(g.op("Add", x, g.linear(mixed, width, width)), width)
        y = g.linear(x, width, 64)
        erf = g.op("Erf", g.op("Div", y, g.constant(np.float32(np.sqrt(2)))))
        half = g.op(
            "Mul",
            g.op("Mul", y, g.op("Add", erf, g.constant(np.float32(1)))),
            g.constant(np.float32(0.5)),
        )
        x = g.layer_norm(g.op("Add", x, g.linear(half, 64, width)), width)
    return g.network(g.linear(x, width, 10))


def inception() -> Network:
    """Two blocks of four branches each, joined by Concat."""
    g = Graph(5, image=(1, 3, 16, 16))
    x, channels = g.op("Relu", g.conv("image", 3, 8)), 8
    for _ in range(2):
        one = g.op("Relu", g.conv(x, channels, 8, kernel=1))
        three = g.op("Relu", g.conv(g.op("Relu", g.conv(x, channels, 6, kernel=1)), 6, 8))
        five = g.op("Relu", g.conv(g.op("Relu", g.conv(x, channels, 4, kernel=1)), 4, 8, kernel=5))
        pool = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
        pool = g.op("Relu", g.conv(pool, channels, 8, kernel=1))
        x, channels = g.op("Concat", one, three, five, pool, axis=1), 32
    return g.network(g.dense(g.pooled(x), channels, 10))


def u_net() -> Network:
    """Skips that span the whole network, up by ConvTranspose and by Resize; the output is an image."""
    g = Graph(6, image=(1, 2, 16, 16))
    top = g.op("Relu", g.conv("image", 2, 6))
    middle = g.op("Relu", g.conv(g.op("MaxPool", top, kernel_shape=[2, 2], strides=[2, 2]), 6, 8))
    x = g.op("Relu", g.conv(g.op("MaxPool", middle, kernel_shape=[2, 2], strides=[2, 2]), 8, 12))
    x = g.op(
        "ConvTranspose",
        x,
        g.weight(12, 8, 2, 2),
        g.weight(8, scale=0.1),
        kernel_shape=[2, 2],
        strides=[2, 2],
    )
    x = g.op("Relu", g.conv(g.op("Concat", x, middle, axis=1), 16, 8))
    scales = g.constant(np.array([1, 1, 2, 2], np.float32))
    x = g.op("Resize", x, "", scales, mode="nearest")
    x = g.op("Relu", g.conv(g.op("Concat", x, top, axis=1), 14, 6))
    return g.network(g.conv(x, 6, 1, kernel=1))


def multi_input() -> Network:
    """A picture and a vector meet half-way; the vector enters a second time behind that."""
    g = Graph(7, image=(1, 3, 12, 12), context=(1, 6))
    x = g.pooled(g.op("Relu", g.conv(g.op("Relu", g.conv("image", 3, 8)), 8, 8)))
    c = g.op("Relu", g.dense("context", 6, 8))
    x = g.op("Relu", g.dense(g.op("Concat", x, c, axis=1), 16, 8))
    x = g.op("Mul", x, g.op("Sigmoid", g.dense("context", 6, 8)))
    return g.network(g.dense(x, 8, 5))


def multi_output() -> Network:
    """Heads at different depths, of different shapes; the first output is read on inside the network."""
    g = Graph(8, image=(1, 3, 12, 12))
    x = g.op("Relu", g.conv("image", 3, 8))
    early = g.dense(g.pooled(x), 8, 4)
    x = g.op("Relu", g.conv(x, 8, 8))
    boxes = g.conv(x, 8, 4, kernel=1)
    late = g.dense(g.pooled(g.op("Relu", g.conv(x, 8, 8))), 8, 6)
    gated = g.op("Mul", late, g.op("Sigmoid", g.dense(early, 4, 6)))
    return g.network(early, boxes, gated)


def recurrent() -> Network:
    """A convolution over time, then LSTM and GRU; sequence first."""
    steps, width, hidden = 9, 6, 8
    g = Graph(9, signal=(1, width, steps))
    weight = g.weight(hidden, width, 3)
    x = g.op(
        "Relu",
        g.op("Conv", "signal", weight, g.weight(hidden, scale=0.1), kernel_shape=[3], pads=[1, 1]),
    )
    x = g.op("Transpose", x, perm=[2, 0, 1])
    axis = g.constant(np.array([1], np.int64))
    for op_type, gates in (("LSTM", 4), ("GRU", 3)):
        parameters = [g.weight(1, gates * hidden, hidden, scale=0.3) for _ in range(2)]
        bias = g.weight(1, 2 * gates * hidden, scale=0.1)
        y = g.op(op_type, x, *parameters, bias, hidden_size=hidden)
        x = g.op("Squeeze", y, axis)
    last = g.op("Gather", x, g.constant(np.int64(-1)), axis=0)
    return g.network(g.dense(last, hidden, 5))


def dense_connections() -> Network:
    """Every layer reads all layers before it: hardly a tensor cuts the graph alone."""
    g = Graph(10, image=(1, 4, 12, 12))
    features = [g.op("Relu", g.conv("image", 4, 6))]
    for layer in range(1, 5):
        joined = g.op("Concat", *features, axis=1) if layer > 1 else features[0]
        features.append(g.op("Relu", g.conv(joined, 6 * layer, 6)))
    return g.network(g.dense(g.pooled(g.op("Concat", *features, axis=1)), 30, 5))


BUILDERS: dict[str, Callable[[], Network]] = {
    builder.__name__: builder
    for builder in (
        plain_cnn,
        depthwise,
        residual,
        transformer,
        inception,
        u_net,
        multi_input,
        multi_output,
        recurrent,
        dense_connections,
    )
}
