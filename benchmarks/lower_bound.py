"""The least a sweep can cost: for every quantizer, the float cost of what lies behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

# Reading and writing one element weighs as much as about this many multiply-adds of a well-blocked kernel.
MACS_PER_ELEMENT = 4.0


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
    costs = []
    for node in model.graph.node:
        if node.op_type == "Constant":
            costs.append(0.0)
            continue
        elements = sum(int(np.prod(shapes[name])) for name in node.output if name)
        costs.append(elements * (MACS_PER_ELEMENT + _macs_per_output(node, shapes)))
    return costs


def _macs_per_output(node: onnx.NodeProto, shapes: dict[str, tuple[int, ...]]) -> int:
    if node.op_type in ("Conv", "ConvTranspose"):
        return int(np.prod(shapes[node.input[1]][1:]))
    if node.op_type == "MatMul":
        return shapes[node.input[0]][-1]
    if node.op_type == "Gemm":
        transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
        return shapes[node.input[0]][0 if transposed else -1]
    return 0


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
