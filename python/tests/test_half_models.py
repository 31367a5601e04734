"""Models in half precision: their exports load, compute what was simulated, and can be read back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import bitsweep
import models
from bitsweep import QuantizationSimModel
from bitsweep.quantsim import load_encodings_to_sim
from written import checked_export

# A Resize of the branchy network has scales in float32, whatever the model computes in.
NAMES = sorted(set(models.ALL) - {"branchy"})


def narrow(value: np.ndarray, elem: int) -> np.ndarray:
    floats = value.dtype == np.float32
    return value.astype(helper.tensor_dtype_to_np_dtype(elem)) if floats else value


def tensor(name: str, value: np.ndarray, elem: int) -> onnx.TensorProto:
    return helper.make_tensor(name, elem, value.shape, narrow(value, elem).tobytes(), raw=True)


def in_half(example: models.Example) -> models.Example:
    model = onnx.ModelProto()
    model.CopyFrom(example.model)
    for t in model.graph.initializer:
        if t.data_type == TensorProto.FLOAT:
            t.CopyFrom(tensor(t.name, numpy_helper.to_array(t), TensorProto.FLOAT16))
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    feeds = [{k: narrow(v, TensorProto.FLOAT16) for k, v in f.items()} for f in example.feeds]
    return replace(example, model=model, feeds=feeds)


def stored_in_bfloat16() -> models.Example:
    """ONNX Runtime multiplies no bfloat16 on CPUs: a weight and an input that are only kept in it."""
    rng = np.random.default_rng(11)
    weight = rng.normal(size=(4, 8)).astype(np.float32)
    nodes = [
        helper.make_node("Cast", ["x"], ["short"], "narrow", to=TensorProto.BFLOAT16),
        helper.make_node("Reshape", ["short", "shape"], ["flat"], "flatten"),
        helper.make_node("Cast", ["flat"], ["wide"], "widen", to=TensorProto.FLOAT),
        helper.make_node("Cast", ["w"], ["wide_w"], "widen_w", to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["wide", "wide_w"], ["product"], "product"),
        helper.make_node("Relu", ["product"], ["y"], "relu"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 8])],
        [
            tensor("w", weight, TensorProto.BFLOAT16),
            numpy_helper.from_array(np.array([2, 4], np.int64), "shape"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return models.Example("bfloat16", model, [{"x": models.normal(rng, 2, 2, 2)} for _ in range(3)])


def bits(sim: QuantizationSimModel, example: models.Example) -> list[bytes]:
    return [np.asarray(y).tobytes() for f in example.feeds for y in sim.session.run(None, f)]


def simulate(example: models.Example, **options: str) -> QuantizationSimModel:
    sim = QuantizationSimModel(example.model, **options)
    sim.compute_encodings(example.feeds)
    return sim


PRECISIONS = {
    "W8A8": {},
    "W8A8 per channel": {"config_file": "htp_v81"},
    "W4A16": {"param_type": "int4", "activation_type": "int16"},
}


@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", [*NAMES, "bfloat16"])
def test_its_export_computes_what_was_simulated_and_comes_back(name, precision, integers):
    example = stored_in_bfloat16() if name == "bfloat16" else in_half(models.ALL[name]())
    sim = simulate(example, **PRECISIONS[precision])
    model = checked_export(sim, example.feeds, prequantize_constants=integers, float16_scales=False)
    assert [*model.graph.input] == [*example.model.graph.input]
    assert bits(QuantizationSimModel.from_onnx_qdq(model), example) == bits(sim, example)


@pytest.mark.parametrize("half", [False, True])
def test_scales_in_half_precision_are_a_choice(cnn, half):
    sim = simulate(in_half(cnn))
    model = sim.to_onnx_qdq(prequantize_constants=True, float16_scales=half)
    stored = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    scale = np.float32(sim.qc_quantize_op_dict["x"].get_encodings()[0].delta)
    assert stored["x_scale"] == (np.float16(scale) if half else scale)
    assert stored["conv1.weight_q"].dtype == np.int8
    assert ("Cast" in {node.op_type for node in model.graph.node}) != half
    assert model.opset_import[0].version == (19 if half else 17)


def test_widths_between_the_types_of_codes_are_clipped(cnn):
    example = in_half(cnn)
    model = checked_export(
        simulate(example, param_type="int5", activation_type="int6"),
        example.feeds,
        float16_scales=False,
    )
    assert "Clip" in {node.op_type for node in model.graph.node}


@pytest.mark.parametrize("version", ["0.6.1", "1.0.0", "2.0.0"])
@pytest.mark.parametrize("name", ["cnn", "transformer", "bfloat16"])
def test_encodings_files_give_the_very_bits(name, version, tmp_path):
    example = stored_in_bfloat16() if name == "bfloat16" else in_half(models.ALL[name]())
    sim = simulate(example)
    sim.export(tmp_path, "m", encoding_version=version)
    again = QuantizationSimModel(example.model)
    load_encodings_to_sim(again, tmp_path / "m.encodings", strict=False)
    assert bits(again, example) == bits(sim, example)


def test_a_mix_predicts_what_it_measures() -> None:
    example = in_half(models.ALL["cnn"]())
    sim = QuantizationSimModel(example.model)
    result = bitsweep.mix(sim, example.feeds, ["W8A8", "W8A16"], frontier_points=3)
    for point in result.frontier:
        assert point.predicted_db == pytest.approx(point.measured_db, abs=6)
