"""The long way round: one quantized tensor, written with plain ONNX operators and run by stock ONNX Runtime.

Knows nothing of bitsweep: no cuts, no cache, no custom operator, no fusions. Slow, and right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

MAX_DB = 100.0


@dataclass(frozen=True)
class Grid:
    """real = step * (q + offset), q in [0, 2^bits - 1]; one entry, or one per channel of `axis`."""

    step: np.ndarray
    offset: np.ndarray
    bits: int
    axis: int | None

    def shaped(self, values: np.ndarray, rank: int) -> np.ndarray:
        shape = [1] * rank
        if self.axis is not None:
            shape[self.axis] = values.size
        return values.astype(np.float32).reshape(shape)


def simulate(model: onnx.ModelProto, tensors: dict[str, Grid]) -> onnx.ModelProto:
    """A copy of `model` in which every reader of `tensors`, and a graph output of that name, sees rounded values."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    for name, grid in tensors.items():
        if name in weights:
            value = numpy_helper.to_array(weights[name])
            weights[name].CopyFrom(numpy_helper.from_array(_rounded(value, grid), name))
        else:
            _round_activation(graph, name, grid)
    return result


def _rounded(value: np.ndarray, grid: Grid) -> np.ndarray:
    step, offset = (grid.shaped(v, value.ndim) for v in (grid.step, grid.offset))
    last = np.float32(2**grid.bits - 1)
    clamped = np.maximum(np.minimum(value, step * (offset + last)), step * offset)
    return step * (np.floor(clamped / step - offset + np.float32(0.5)) + offset)


def _round_activation(graph: onnx.GraphProto, name: str, grid: Grid) -> None:
    assert grid.axis is None, "activations are quantized per tensor"
    step, offset = np.float32(grid.step[0]), np.float32(grid.offset[0])
    raw = name
    for node in graph.node:
        if name in node.output:
            raw = f"{name}.raw"
            node.output[list(node.output).index(name)] = raw
    rounded = f"{name}.rounded" if raw == name else name
    if raw == name:  # a graph input keeps its name, so its readers change
        for node in graph.node:
            for index, source in enumerate(node.input):
                if source == name:
                    node.input[index] = rounded
    chain = [
        ("Min", step * (offset + np.float32(2**grid.bits - 1))),
        ("Max", step * offset),
        ("Div", step),
        ("Sub", offset),
        ("Add", np.float32(0.5)),
        ("Floor", None),
        ("Add", offset),
        ("Mul", step),
    ]
    source, nodes = raw, []
    for index, (op_type, constant) in enumerate(chain):
        output = rounded if index == len(chain) - 1 else f"{name}.round{index}"
        inputs = [source]
        if constant is not None:
            inputs.append(f"{name}.constant{index}")
            graph.initializer.append(numpy_helper.from_array(np.asarray(constant), inputs[-1]))
        nodes.append(helper.make_node(op_type, inputs, [output]))
        source = output
    others = list(graph.node)
    producer = next((i for i, node in enumerate(others) if raw in node.output), -1)
    del graph.node[:]
    graph.node.extend(others[: producer + 1] + nodes + others[producer + 1 :])


class FullRun:
    """Float outputs of some samples, and the PSNR of a model with rounded tensors against them."""

    def __init__(self, model: onnx.ModelProto, feeds: list[dict[str, np.ndarray]]) -> None:
        self._model = model
        self._feeds = feeds
        self.float_session = _session(model)
        self._float = self._outputs(self.float_session)

    def psnr_db(self, tensors: dict[str, Grid]) -> float:
        """Worst output; all samples of an output stacked. Source: 20 log10(range / rms error), clipped."""
        simulated = self._outputs(_session(simulate(self._model, tensors)))
        return min(_psnr_db(a, b) for a, b in zip(self._float, simulated, strict=True))

    def _outputs(self, session: ort.InferenceSession) -> list[np.ndarray]:
        runs = [session.run(None, feed) for feed in self._feeds]
        return [np.stack(values) for values in zip(*runs, strict=True)]


def _session(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def _psnr_db(expected: np.ndarray, actual: np.ndarray) -> float:
    a, b = expected.astype(np.float64), actual.astype(np.float64)
    extent = max(a.max() - a.min(), np.abs(a).max(), 1e-10)
    noise = max(np.sqrt(np.mean((a - b) ** 2)), 1e-15)
    return float(np.clip(20.0 * np.log10(extent / noise), -MAX_DB, MAX_DB))
