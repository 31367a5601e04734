"""What every written QDQ model has to keep, whatever it was made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import onnx
from onnx import numpy_helper

from bitsweep import QuantizationSimModel
from situations import Feed

LINEAR = ("QuantizeLinear", "DequantizeLinear")


def faces(model: onnx.ModelProto) -> list[tuple]:
    """Names, types and shapes of inputs and outputs, in their order."""
    return [
        (
            v.name,
            v.type.tensor_type.elem_type,
            [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim],
        )
        for v in [*model.graph.input, *model.graph.output]
    ]


def values(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}


def types(model: onnx.ModelProto) -> dict[str, int]:
    return {i.name: i.data_type for i in model.graph.initializer}


def linear(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    return (n for n in model.graph.node if n.op_type in LINEAR)


def axis(node: onnx.NodeProto) -> int | None:
    return next((a.i for a in node.attribute if a.name == "axis"), None)


def maker(model: onnx.ModelProto, tensor: str) -> onnx.NodeProto:
    """The node behind an input of an operator."""
    return next(n for n in model.graph.node if tensor in n.output)


def checked_export(
    sim: QuantizationSimModel, feeds: Sequence[Feed], **options: object
) -> onnx.ModelProto:
    """The written model: valid, with unique names, unchanged faces and all axes; loads at every level and agrees."""
    model = sim.to_onnx_qdq(**options)
    onnx.checker.check_model(model, full_check=True)
    names = [n.name for n in model.graph.node]
    assert len(set(names)) == len(names)
    assert all(names)
    scales = values(model)
    for node in linear(model):
        if node.input[1] in scales and scales[node.input[1]].ndim > 0:
            assert axis(node) is not None, node.name
    found = sim.verify(model, feeds, latency_runs=0)
    assert [check.loads for check in found.loads] == [True] * 4, [c.reason for c in found.loads]
    assert found.passed, (
        found.problems,
        found.first_disagreement and found.first_disagreement.tensor,
    )
    return model
