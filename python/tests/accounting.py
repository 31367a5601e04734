"""Every tensor accounted for: what a simulation must say about the tensors of a model, whatever the model."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto

FLOATS = {
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.BFLOAT16,
    TensorProto.DOUBLE,
}


def _bodies(graph: GraphProto) -> Iterator[GraphProto]:
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield attribute.g
            elif attribute.type == AttributeProto.GRAPHS:
                yield from attribute.graphs


def _defined(graph: GraphProto) -> Iterator[tuple[str, int | None]]:
    """Name and element type of each tensor that a graph or a body of it defines; None: not known."""
    types = {
        value.name: value.type.tensor_type.elem_type or None
        for value in [*graph.value_info, *graph.output, *graph.input]
    }
    statics = {tensor.name: tensor.data_type for tensor in graph.initializer}
    statics |= {sparse.values.name: sparse.values.data_type for sparse in graph.sparse_initializer}
    yield from statics.items()
    dynamic = [v.name for v in graph.input if v.name not in statics]
    dynamic += [name for node in graph.node for name in node.output if name]
    yield from ((name, types.get(name)) for name in dynamic)
    for body in _bodies(graph):
        yield from _defined(body)


def unaccounted(model: ModelProto, reports: Iterable) -> list[str]:
    """What is wrong with the rows of `describe()`: a tensor that is missing, there twice, or without a reason."""
    try:
        typed = onnx.shape_inference.infer_shapes(model)
    except Exception:  # what shape inference cannot read has declared types only
        typed = model
    needed, allowed = collections.Counter(), collections.Counter()
    for name, element in _defined(typed.graph):
        needed[name] += element in FLOATS
        allowed[name] += element is None or element in FLOATS
    listed = collections.Counter(row.tensor for row in reports)
    wrong = [
        f"{name} is listed {listed[name]} times instead of {count} to {allowed[name]}"
        for name, count in needed.items()
        if not count <= listed[name] <= allowed[name]
    ]
    if not model.functions:  # the tensors of functions get names when they are inlined
        wrong += [f"{name} is no tensor of the model" for name in listed.keys() - allowed.keys()]
    for row in reports:
        if row.status not in ("quantized", "tied", "off", "float"):
            wrong.append(f"{row.tensor} has the status {row.status}")
        elif not row.reason or (row.status == "tied") != bool(row.tied_to):
            wrong.append(f"{row.tensor}: {row.status} {row.tied_to!r} because {row.reason!r}")
    return wrong
