"""More small networks: other types, control flow, functions, recurrent layers, dimensions that samples choose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from small_networks import Feed, Graph, Network


def head(x: str, g: Graph, width: int, outputs: int = 5) -> Network:
    return g.network(g.dense(x, width, outputs))


def _recurrent(op_type: str, gates: int, seed: int, direction: str = "forward") -> Network:
    """Two layers; the second one starts from what the first one ends with."""
    steps, width, hidden = 7, 5, 6
    ways = 2 if direction == "bidirectional" else 1
    g = Graph(seed, signal=(steps, 1, width))
    x, inputs, state = "signal", width, []
    for _ in range(2):
        parameters = [g.weight(ways, gates * hidden, n, scale=0.4) for n in (inputs, hidden)] + [
            g.weight(ways, 2 * gates * hidden, scale=0.1)
        ]
        y, *state = g.op(
            op_type, x, *parameters, "", *state,
            outputs=3 if op_type == "LSTM" else 2, hidden_size=hidden, direction=direction,
        )  # fmt: skip
        y = g.op("Transpose", y, perm=[0, 2, 1, 3])
        x = g.op("Reshape", y, g.constant(np.array([steps, 1, ways * hidden], np.int64)))
        inputs = ways * hidden
    last = g.op("Gather", x, g.constant(np.int64(-1)), axis=0)
    return head(last, g, ways * hidden)


def lstm() -> Network:
    return _recurrent("LSTM", 4, 31)


def gru_both_ways() -> Network:
    return _recurrent("GRU", 3, 32, "bidirectional")


def rnn() -> Network:
    return _recurrent("RNN", 1, 33)


def _body(name: str, nodes: list, inputs: list, outputs: list, weights: list) -> onnx.GraphProto:
    values = [
        [helper.make_tensor_value_info(n, t, s) for n, t, s in entries]
        for entries in (inputs, outputs)
    ]
    return helper.make_graph(
        nodes, name, *values, [numpy_helper.from_array(v, n) for n, v in weights]
    )


def branch_by_value() -> Network:
    """If: the sample decides which of two linear layers is taken."""
    g = Graph(34, x=(1, 8))
    x = g.op("Relu", g.dense("x", 8, 8))
    mean = g.op("ReduceMean", x, keepdims=0)
    taken = g.op("Greater", mean, g.constant(np.float32(0.5)))
    branches = {}
    for side in ("then", "else"):
        weight = g.random.standard_normal((8, 8)).astype(np.float32) / 3
        branches[f"{side}_branch"] = _body(
            side,
            [
                helper.make_node("MatMul", [x, f"{side}.w"], [f"{side}.p"], name=f"{side}.matmul"),
                helper.make_node("Relu", [f"{side}.p"], [f"{side}.y"], name=f"{side}.relu"),
            ],
            [],
            [(f"{side}.y", TensorProto.FLOAT, [1, 8])],
            [(f"{side}.w", weight)],
        )
    y = g.op("If", taken, **branches)
    return head(g.op("Relu", g.dense(y, 8, 8)), g, 8)


def loop() -> Network:
    """Loop: one linear layer three times, from the middle of the network."""
    g = Graph(35, x=(1, 8))
    x = g.op("Tanh", g.dense("x", 8, 8))
    weight = g.weight(8, 8, scale=0.4)
    body = _body(
        "body",
        [
            helper.make_node("MatMul", ["h", weight], ["h.p"], name="body.matmul"),
            helper.make_node("Tanh", ["h.p"], ["h.next"], name="body.tanh"),
            helper.make_node("Identity", ["go"], ["go.next"], name="body.go"),
        ],
        [
            ("i", TensorProto.INT64, []),
            ("go", TensorProto.BOOL, []),
            ("h", TensorProto.FLOAT, [1, 8]),
        ],
        [("go.next", TensorProto.BOOL, []), ("h.next", TensorProto.FLOAT, [1, 8])],
        [],
    )
    y = g.op("Loop", g.constant(np.int64(3)), "", x, body=body)
    return head(g.op("Add", y, x), g, 8)


def scan() -> Network:
    """Scan: a state that walks over the rows of a tensor that the network has made."""
    g = Graph(36, x=(6, 8))
    x = g.op("Relu", g.dense("x", 8, 8))
    weight = g.weight(8, 8, scale=0.3)
    body = _body(
        "body",
        [
            helper.make_node("MatMul", ["s", weight], ["s.p"], name="body.matmul"),
            helper.make_node("Add", ["s.p", "row"], ["s.next"], name="body.add"),
            helper.make_node("Tanh", ["s.next"], ["s.out"], name="body.tanh"),
        ],
        [("s", TensorProto.FLOAT, [8]), ("row", TensorProto.FLOAT, [8])],
        [("s.next", TensorProto.FLOAT, [8]), ("s.out", TensorProto.FLOAT, [8])],
        [],
    )
    start = g.constant(np.zeros(8, np.float32))
    _, rows = g.op("Scan", start, x, outputs=2, body=body, num_scan_inputs=1)
    return head(g.op("Relu", rows), g, 8)


def functions() -> Network:
    """The model's own function, called twice with other weights."""
    g = Graph(37, x=(1, 8))
    x = g.op("Relu", g.dense("x", 8, 8))
    for _ in range(2):
        name = g.op("Gate", x, g.weight(8, 8, scale=0.4))
        g.nodes[-1].domain = "own"
        x = g.op("Add", x, name)
    gate = helper.make_function(
        "own", "Gate", ["x", "w"], ["y"],
        [
            helper.make_node("MatMul", ["x", "w"], ["p"]),
            helper.make_node("Sigmoid", ["p"], ["s"]),
            helper.make_node("Mul", ["p", "s"], ["y"]),
        ],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    return g.network(g.dense(x, 8, 5), functions=[gate])


def own_dimensions() -> Network:
    """Batch and length are those of the sample: attention over tokens, each sample of another length."""
    g = Graph(38, tokens=(2, 6, 16))
    x = g.layer_norm(g.linear("tokens", 16, 16), 16)
    q, k, v = (g.linear(x, 16, 16) for _ in range(3))
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 2, 1]))
    weights = g.op("Softmax", g.op("Mul", scores, g.constant(np.float32(0.25))), axis=-1)
    x = g.op("Add", x, g.linear(g.op("MatMul", weights, v), 16, 16))
    network = g.network(g.linear(x, 16, 5), open_axes={"tokens": {1: "length"}})

    def feeds(count: int, seed: int) -> list[Feed]:
        random = np.random.default_rng(seed)
        return [
            {"tokens": random.standard_normal((1 + i % 2, 4 + i, 16)).astype(np.float32)}
            for i in range(count)
        ]

    return Network(network.model, network.input_shapes, feeds)


def half() -> Network:
    """Everything in float16, with a residual sum."""
    g = Graph(39, np.float16, image=(1, 3, 12, 12))
    x = g.op("Relu", g.conv("image", 3, 8))
    x = g.op("Relu", g.op("Add", x, g.conv(g.op("Relu", g.conv(x, 8, 8)), 8, 8)))
    return head(g.pooled(x), g, 8)


def softmax_head() -> Network:
    """Class probabilities, after a sharp softmax."""
    g = Graph(40, image=(1, 3, 12, 12))
    x = g.op("Relu", g.conv(g.op("Relu", g.conv("image", 3, 8)), 8, 8, stride=2))
    logits = g.op("Mul", g.dense(g.pooled(x), 8, 6), g.constant(np.float32(4)))
    return g.network(g.op("Softmax", logits, axis=-1))


def upsampling() -> Network:
    """From a vector to an image by ConvTranspose, with PRelu and InstanceNormalization."""
    g = Graph(41, code=(1, 8))
    x = g.op("Relu", g.dense("code", 8, 64))
    x = g.op("Reshape", x, g.constant(np.array([0, 4, 4, 4], np.int64)))
    for inputs, outputs in ((4, 6), (6, 6)):
        x = g.op(
            "ConvTranspose", x, g.weight(inputs, outputs, 4, 4, scale=0.3),
            g.weight(outputs, scale=0.1), kernel_shape=[4, 4], strides=[2, 2], pads=[1] * 4,
        )  # fmt: skip
        scale = g.constant(g.random.uniform(0.5, 1.5, outputs).astype(np.float32))
        x = g.op("InstanceNormalization", x, scale, g.weight(outputs, scale=0.2))
        x = g.op("PRelu", x, g.constant(np.full((outputs, 1, 1), 0.2, np.float32)))
    return g.network(g.op("Tanh", g.conv(x, 6, 2, kernel=1)))


def shared_weights() -> Network:
    """One kernel read by three convolutions, and a tied embedding that is also the last product."""
    g = Graph(42, image=(1, 6, 8, 8))
    weight, bias = g.weight(6, 6, 3, 3, scale=0.15), g.weight(6, scale=0.1)
    x = "image"
    for _ in range(3):
        x = g.op("Relu", g.op("Conv", x, weight, bias, kernel_shape=[3, 3], pads=[1] * 4))
    table = g.weight(10, 6, scale=0.5)
    x = g.op("Add", g.pooled(x), g.op("Gather", table, g.constant(np.array([3], np.int64))))
    return g.network(g.op("MatMul", x, g.op("Transpose", table, perm=[1, 0])))


BUILDERS: dict[str, Callable[[], Network]] = {
    builder.__name__: builder
    for builder in (
        lstm,
        gru_both_ways,
        rnn,
        branch_by_value,
        loop,
        scan,
        functions,
        own_dimensions,
        half,
        softmax_head,
        upsampling,
        shared_weights,
    )
}
