"""The least a sweep can cost: for every quantizer, the float cost of what lies behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

# In multiply-adds of a well-blocked kernel, fitted to ONNX Runtime's profiler on eight trained networks (the engine
# estimates with the same): an element of an activation that is read or written, one of a weight, an operator as such.
MACS_PER_ACTIVATION = 7.0
MACS_PER_WEIGHT = 10.0
MACS_PER_NODE = 1e5
# Kernels that compute with less speed: steps of recurrent layers wait for each other, depthwise ones reuse nothing.
RECURRENT_FACTOR = 6.0
DEPTHWISE_FACTOR = 4.0

RECURRENT = ("LSTM", "GRU", "RNN")
VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Shape", "Size")


def downstream_share(
    model: onnx.ModelProto, feed: dict[str, np.ndarray], quantizers: Iterable[str]
) -> float:
    """Mean over `quantizers` (tensor names) of the cost behind them, in float runs of `model`.

    Only these operators see a changed value; everything else is the same as in the float run. Cost is an estimate
    from observed shapes: multiply-adds plus traffic. Names the model does not have (parameters that batch-norm
    folding made) are left out.
    """
    costs = _node_costs(model, feed)
    readers: dict[str, list[int]] = defaultdict(list)
    for index, node in enumerate(model.graph.node):
        for name in node.input:
            readers[name].append(index)
    shares = []
    for quantizer in quantizers:
        if quantizer in readers:
            shares.append(sum(costs[index] for index in _reachable(model, readers, quantizer)))
        elif any(value.name == quantizer for value in model.graph.output):
            shares.append(0.0)
    if not shares:
        raise SystemExit(
            "no quantizer of the sweep is a tensor of the float model; were they given the same model?"
        )
    return float(np.mean(shares)) / sum(costs)


def _reachable(model: onnx.ModelProto, readers: dict[str, list[int]], tensor: str) -> set[int]:
    seen: set[int] = set()
    pending = list(readers[tensor])
    while pending:
        index = pending.pop()
        if index in seen:
            continue
        seen.add(index)
        for output in model.graph.node[index].output:
            pending.extend(readers[output])
    return seen


def _node_costs(model: onnx.ModelProto, feed: dict[str, np.ndarray]) -> list[float]:
    shapes = _observed_shapes(model, feed)
    weights = {tensor.name for tensor in model.graph.initializer}
    weights.update(n.output[0] for n in model.graph.node if n.op_type == "Constant")
    return [_cost(node, shapes, weights) for node in model.graph.node]


def _cost(node: onnx.NodeProto, shapes: dict[str, tuple[int, ...]], weights: set[str]) -> float:
    if node.op_type == "Constant":
        return 0.0
    if node.op_type in VIEWS:
        return MACS_PER_NODE
    moved = 0.0
    # Of an embedding table only the rows that come out are read.
    read = node.input[1:] if node.op_type == "Gather" else node.input
    for name in [*read, *node.output]:
        per_element = MACS_PER_WEIGHT if name in weights else MACS_PER_ACTIVATION
        moved += per_element * int(np.prod(shapes[name])) if name in shapes else 0.0
    return MACS_PER_NODE + moved + _macs(node, shapes)


def _macs(node: onnx.NodeProto, shapes: dict[str, tuple[int, ...]]) -> float:
    if node.op_type in RECURRENT:
        steps, batch = shapes[node.input[0]][:2]
        gates = sum(int(np.prod(shapes[name])) for name in node.input[1:3])
        return RECURRENT_FACTOR * steps * batch * gates
    if node.op_type not in ("Conv", "ConvTranspose", "MatMul", "Gemm"):
        return 0.0
    x, weight = (shapes[name] for name in node.input[:2])
    outputs = int(np.prod(shapes[node.output[0]]))
    if node.op_type == "Conv":
        depthwise = weight[1] == 1 and _attribute(node, "group", 1) > 1
        return outputs * int(np.prod(weight[1:])) * (DEPTHWISE_FACTOR if depthwise else 1.0)
    if node.op_type == "ConvTranspose":
        return int(np.prod(x)) * int(np.prod(weight[1:]))
    if node.op_type == "Gemm" and _attribute(node, "transA", 0):
        return outputs * x[0]
    return outputs * x[-1]


def _attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((a.i for a in node.attribute if a.name == name), default)


def _observed_shapes(
    model: onnx.ModelProto, feed: dict[str, np.ndarray]
) -> dict[str, tuple[int, ...]]:
    """Shapes of all tensors, seen by running the model once; declared shapes are not to be trusted."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    outputs = {value.name for value in probe.graph.output}
    for node in probe.graph.node:
        for name in node.output:
            if name and name not in outputs:
                probe.graph.output.append(helper.make_empty_tensor_value_info(name))
                outputs.add(name)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(
        probe.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    values = session.run(None, feed)
    shapes = {
        output.name: np.shape(value)
        for output, value in zip(session.get_outputs(), values, strict=True)
    }
    shapes.update({name: value.shape for name, value in feed.items()})
    shapes.update({tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer})
    for node in model.graph.node:
        if node.op_type == "Constant":
            shapes[node.output[0]] = numpy_helper.to_array(node.attribute[0].t).shape
    return shapes
