"""Small models of situations in which tools of this kind were reported to fail, and their simulation.

The tests in bugs/ have one file for each kind of situation; the comment names the entry of the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import bitsweep
from accounting import unaccounted
from sessions import ONE_THREAD, float_session

PER_CHANNEL = "htp_v73"
SCHEMES = ["min_max", "tf_enhanced", "percentile", "mse", "entropy"]
Feed = dict[str, np.ndarray]

rng = np.random.default_rng(11)
node = helper.make_node


def normal(*shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def build(
    nodes: Sequence[Any],
    inputs: Mapping[str, Sequence[int | str]],
    weights: Mapping[str, np.ndarray],
    outputs: Sequence[str] = ("y",),
    *,
    opset: int = 17,
    input_types: Mapping[str, int] | None = None,
    imports: Sequence[Any] = (),
    functions: Sequence[Any] = (),
    output_type: int = TensorProto.FLOAT,
    output_shape: Sequence[int] | None = None,
    checked: bool = True,
) -> onnx.ModelProto:
    types = input_types or {}
    graph = helper.make_graph(
        nodes,
        "net",
        [
            helper.make_tensor_value_info(n, types.get(n, TensorProto.FLOAT), shape)
            for n, shape in inputs.items()
        ],
        [onnx.ValueInfoProto(name=n) for n in outputs],
        [numpy_helper.from_array(value, n) for n, value in weights.items()],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", opset), *imports],
        ir_version=8,
        functions=functions,
    )
    model = onnx.shape_inference.infer_shapes(model)
    for output in model.graph.output:
        if not output.type.tensor_type.elem_type:  # behind an operator that ONNX does not know
            known = helper.make_tensor_value_info(output.name, output_type, output_shape)
            output.CopyFrom(known)
    if checked:  # the situation has to be a valid one
        onnx.checker.check_model(model)
        float_session(model)
    return model


def tied_embedding() -> tuple[onnx.ModelProto, list[Feed]]:
    """A table E that Gather reads by rows and Gemm reads transposed, and samples."""
    model = build(
        [
            node("Gather", ["E", "ids"], ["e"]),
            node("Reshape", ["e", "shape"], ["r"]),
            node("Relu", ["r"], ["a"]),
            node("Gemm", ["a", "E"], ["y"], transB=1),
        ],
        {"ids": [1, 4]},
        {"E": normal(512, 64), "shape": np.array([4, 64])},
        input_types={"ids": TensorProto.INT64},
    )
    return model, [{"ids": rng.integers(0, 512, (1, 4))} for _ in range(4)]


def simulate(
    model: onnx.ModelProto, feeds: Sequence[Feed], *, exact: bool = True, **arguments: Any
):
    """Calibrated simulation that lists each tensor; with all quantizers off it computes what the float model computes.

    Not `exact`: up to rounding, where the runtime uses another kernel for the float model.
    """
    before = model.SerializeToString()
    sim = bitsweep.QuantizationSimModel(model, session_options_kwargs=ONE_THREAD, **arguments)
    assert unaccounted(model, sim.describe()) == []
    sim.compute_encodings(feeds)
    simulated = sim.session.run(None, feeds[0])
    enabled = [q for q in sim.qc_quantize_op_dict.values() if q.enabled]
    for quantizer in enabled:
        quantizer.enabled = False
    for off, plain in zip(
        sim.session.run(None, feeds[0]), float_session(model).run(None, feeds[0]), strict=True
    ):
        assert off.dtype == plain.dtype
        if exact:
            assert off.tobytes() == plain.tobytes()
        else:
            np.testing.assert_allclose(off, plain, rtol=1e-4, atol=1e-5)
    for quantizer in enabled:
        quantizer.enabled = True
    assert all(np.isfinite(y.astype(np.float32)).all() for y in simulated)
    assert model.SerializeToString() == before
    return sim


def samples(count: int = 4, **shapes: Sequence[int]) -> list[Feed]:
    return [{name: normal(*shape) for name, shape in shapes.items()} for _ in range(count)]


def rows(sim) -> dict[str, Any]:
    """Report by tensor; each tensor has one row."""
    reports = sim.describe()
    assert len({r.tensor for r in reports}) == len(reports)
    return {r.tensor: r for r in reports}


def num_scales(sim, tensor: str) -> int:
    return len(sim.qc_quantize_op_dict[tensor].get_encodings())
