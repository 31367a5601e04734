"""Encodings files and QDQ models: writing, reading, and what can be wrong with them."""

from __future__ import annotations

import json

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import bitsweep
from bitsweep import QuantizationSimModel
from bitsweep.quantsim import encodings_to_onnx_qdq, load_encodings_to_sim


def encodings(folder, name="out"):
    return json.loads((folder / f"{name}.encodings").read_text(encoding="utf-8"))


@pytest.mark.parametrize("version", ["1.0.0", "2.0.0"])
def test_reading_back_gives_the_same_outputs(example, calibrate, tmp_path, version):
    sim = calibrate(example)
    sim.export(tmp_path, "out", encoding_version=version)
    other = QuantizationSimModel(example.model)
    load_encodings_to_sim(other, tmp_path / "out.encodings", strict=False)
    for feed in example.feeds:
        for want, got in zip(
            sim.session.run(None, feed), other.session.run(None, feed), strict=True
        ):
            np.testing.assert_array_equal(got, want)


def test_the_oldest_version_warns(cnn_sim, tmp_path):
    with pytest.warns(DeprecationWarning, match=r"0\.6\.1"):
        cnn_sim.export(tmp_path, "out", export_model=False, encoding_version="0.6.1")
    assert [p.name for p in tmp_path.iterdir()] == ["out.encodings"]
    assert encodings(tmp_path)["version"] == "0.6.1"


def test_the_model_beside_it_is_the_float_model(cnn, cnn_sim, tmp_path):
    cnn_sim.export(tmp_path, "out")
    written = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(written)
    assert [n.op_type for n in written.graph.node] == [n.op_type for n in cnn.model.graph.node]


def test_bias_scales_are_the_product_of_input_and_weight_scales(cnn_sim, tmp_path):
    cnn_sim.export(tmp_path, "out", export_model=False, encoding_version="2.0.0")
    entries = {e["name"]: e for e in encodings(tmp_path)["encodings"]}
    for op in cnn_sim.operators:
        kinds = {kind: tensor for tensor, kind in op.parameters}
        if op.type != "Conv" or kinds.get("bias") not in entries:
            continue
        x, w, b = entries[op.inputs[0]], entries[kinds["weight"]], entries[kinds["bias"]]
        assert b["output_dtype"] == "int32"
        np.testing.assert_allclose(
            b["y_scale"], np.multiply(x["y_scale"], w["y_scale"]), rtol=1e-12
        )
        break
    else:
        pytest.fail("no Conv with a bias was exported")


def test_sign_of_activations_is_a_choice(cnn_sim, tmp_path):
    for sign, prefix in (("unsigned", "u"), ("signed", "i")):
        cnn_sim.export(tmp_path, "out", False, encoding_version="2.0.0", force_activation_as=sign)
        types = {e["name"]: e["output_dtype"] for e in encodings(tmp_path)["encodings"]}
        for name in cnn_sim.activation_names:
            if name in types:
                assert types[name].startswith(prefix), (name, types[name])
    with pytest.raises(bitsweep.Error, match="force_activation_as"):
        cnn_sim.export(tmp_path, "out", force_activation_as="both")


def test_frozen_parameters_survive_calibration(cnn, cnn_sim, tmp_path):
    cnn_sim.export(tmp_path, "out", export_model=False)
    other = QuantizationSimModel(cnn.model)
    other.set_and_freeze_param_encodings(tmp_path / "out.encodings")
    other.compute_encodings([{k: 3 * v for k, v in f.items()} for f in cnn.feeds])
    for name in cnn_sim.param_names:
        if cnn_sim.qc_quantize_op_dict[name].enabled:
            want = cnn_sim.qc_quantize_op_dict[name].get_encodings()
            got = other.qc_quantize_op_dict[name].get_encodings()
            assert [e.delta for e in got] == [e.delta for e in want]
            assert other.qc_quantize_op_dict[name].is_encoding_frozen()


def test_quantizers_that_the_file_does_not_name_are_switched_off_on_request(cnn, cnn_sim, tmp_path):
    cnn_sim.export(tmp_path, "out", export_model=False)
    document = encodings(tmp_path)
    dropped = document["activation_encodings"].pop()["name"]
    for disable in (True, False):
        other = QuantizationSimModel(cnn.model)
        load_encodings_to_sim(other, document, strict=False, disable_missing_quantizers=disable)
        assert other.qc_quantize_op_dict[dropped].enabled is not disable


def test_errors_name_the_file_and_the_reason(cnn_sim, tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        cnn_sim.export(tmp_path / "missing", "out")
    with pytest.raises(ValueError, match=r"3\.0\.0"):
        cnn_sim.export(tmp_path, "out", encoding_version="3.0.0")
    with pytest.raises(ValueError, match="prefix"):
        cnn_sim.export(tmp_path, "a/b")
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match=r"no\.encodings"):
        load_encodings_to_sim(cnn_sim, tmp_path / "no.encodings")


class TestQdq:
    @pytest.mark.parametrize("integers", [False, True])
    @pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"])
    def test_computes_what_was_simulated(self, example, calibrate, level, integers):
        sim = calibrate(example)
        model = sim.to_onnx_qdq(prequantize_constants=integers)
        onnx.checker.check_model(model)
        options = ort.SessionOptions()
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
        # CPUs without VNNI have faster kernels, whose sums saturate.
        options.add_session_config_entry("session.x64quantprecision", "1")
        session = ort.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        feed = example.feeds[0]
        for output, want, got in zip(
            sim.session.get_outputs(),
            sim.session.run(None, feed),
            session.run(None, feed),
            strict=True,
        ):
            spread = float(np.ptp(want)) if np.size(want) else 0.0
            # A code that lies on an exact half step may round the other way and be amplified behind.
            assert np.abs(np.subtract(want, got, dtype=np.float64)).max(initial=0.0) <= max(
                spread / 16, 1e-6
            ), output.name

    def test_sixteen_bits_raise_the_opset(self, cnn, calibrate):
        sim = calibrate(cnn, activation_type="int16")
        model = sim.to_onnx_qdq(export_int32_bias=True)
        assert model.opset_import[0].version == 21
        types = {i.name: i.data_type for i in model.graph.initializer}
        assert onnx.TensorProto.INT32 in types.values()
        assert onnx.TensorProto.UINT16 in types.values()
        ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def test_axis_is_always_written_per_channel(self, cnn, calibrate):
        model = calibrate(cnn, config_file="htp_v81").to_onnx_qdq()
        sizes = {i.name: list(i.dims) for i in model.graph.initializer}
        channels = [
            n for n in model.graph.node if n.op_type.endswith("Linear") and sizes[n.input[1]]
        ]
        assert channels
        assert all(any(a.name == "axis" for a in n.attribute) for n in channels)

    def test_names_of_nodes_are_unique(self, example, calibrate):
        names = [n.name for n in calibrate(example).to_onnx_qdq().graph.node]
        assert len(set(names)) == len(names)

    def test_an_encodings_file_gives_the_same_model(self, cnn, cnn_sim, tmp_path):
        cnn_sim.export(tmp_path, "out", False, encoding_version="2.0.0", export_int32_bias=True)
        model = encodings_to_onnx_qdq(cnn.model, tmp_path / "out.encodings")
        want = cnn_sim.to_onnx_qdq(export_int32_bias=True)
        assert model.SerializeToString() == want.SerializeToString()

    def test_an_encodings_file_of_other_rules_gives_the_same_model(self, tmp_path):
        """A Mul that runs with its Relu, a Relu with a range of its own, a MatMul whose output has a grid."""
        node = onnx.helper.make_node
        graph = onnx.helper.make_graph(
            [
                node("Mul", ["x", "x"], ["m"]),
                node("Relu", ["m"], ["r"]),
                node("Sin", ["r"], ["s"]),
                node("Relu", ["s"], ["t"]),
                node("MatMul", ["t", "w"], ["p"]),
                node("Add", ["p", "b"], ["y"]),
            ],
            "g",
            [onnx.helper.make_tensor_value_info("x", 1, [2, 4])],
            [onnx.helper.make_tensor_value_info(n, 1, None) for n in ("y", "s")],
            [
                onnx.numpy_helper.from_array(
                    np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), "w"
                ),
                onnx.numpy_helper.from_array(np.float32([0.5, -0.25, 0.1]), "b"),
            ],
        )
        model = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
        )
        rules = tmp_path / "rules.json"
        rules.write_text(
            json.dumps(
                {"extends": "per_tensor", "supergroups": [{"op_list": ["Mul", "Relu"]}], "supergroup_pass_list": [],
                 "op_type": {"Relu": {"encoding_constraints": {"min": 0.0}}}}
            )
        )  # fmt: skip
        sim = QuantizationSimModel(model, config_file=str(rules))
        sim.compute_encodings([{"x": np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)}])
        sim.export(tmp_path, "out", False, encoding_version="2.0.0")
        document = encodings(tmp_path)
        document["encodings"] = [e for e in document["encodings"] if e["name"] != "b"]
        document["encodings"].append({"name": "b", "output_dtype": "int32", "y_scale": 1e-8})
        names = {e["name"] for e in document["encodings"]}
        assert names >= {"r", "s", "t", "p"}
        assert "m" not in names
        qdq = encodings_to_onnx_qdq(model, document)
        pairs = {n.output[0] for n in qdq.graph.node if n.op_type == "DequantizeLinear"}
        assert {name.removesuffix("_qdq") for name in pairs} == names

    def test_a_float16_bound_gets_no_grid_of_what_it_bounds(self, tmp_path):
        graph = onnx.helper.make_graph(
            [
                onnx.helper.make_node("Sin", ["x"], ["s"]),
                onnx.helper.make_node("Clip", ["s", "low", "high"], ["y"]),
            ],
            "g",
            [onnx.helper.make_tensor_value_info("x", 1, [4])],
            [onnx.helper.make_tensor_value_info("y", 1, None)],
            [
                onnx.numpy_helper.from_array(np.float32(v), n)
                for n, v in (("low", -0.5), ("high", 0.5))
            ],
        )
        model = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
        )
        sim = QuantizationSimModel(model)
        sim.qc_quantize_op_dict["high"].set_precision("float16")
        sim.compute_encodings([{"x": np.ones(4, np.float32)}])
        with pytest.warns(UserWarning, match='"high" is float16'):
            sim.export(tmp_path, "out", False, encoding_version="2.0.0")
        names = {e["name"] for e in encodings(tmp_path)["encodings"]}
        assert {"x", "s", "y", "low"} <= names
        assert "high" not in names

    @pytest.mark.parametrize("per_channel", [True, False])
    def test_the_bias_of_a_single_channel_has_the_granularity_of_its_weight(
        self, tmp_path, per_channel
    ):
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("Conv", ["x", "w", "b"], ["y"])],
            "g",
            [onnx.helper.make_tensor_value_info("x", 1, [1, 2, 3, 3])],
            [onnx.helper.make_tensor_value_info("y", 1, None)],
            [
                onnx.numpy_helper.from_array(np.float32([[[[0.5]], [[-1.0]]]]), "w"),
                onnx.numpy_helper.from_array(np.float32([0.25]), "b"),
            ],
        )
        model = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
        )
        sim = QuantizationSimModel(model, config_file="default" if per_channel else "per_tensor")
        sim.compute_encodings([{"x": np.ones((1, 2, 3, 3), np.float32)}])
        sim.export(tmp_path, "out", False, encoding_version="2.0.0")
        bias = next(e for e in encodings(tmp_path)["encodings"] if e["name"] == "b")
        assert bias.get("axis") == (0 if per_channel else None)
        assert np.shape(bias["y_scale"]) == ((1,) if per_channel else ())

    def test_what_is_behind_a_relu_gets_no_grid(self, tmp_path):
        node = onnx.helper.make_node
        graph = onnx.helper.make_graph(
            [node("Sin", ["x"], ["a"]), node("Relu", ["a"], ["r"]), node("Sin", ["r"], ["y"])],
            "g",
            [onnx.helper.make_tensor_value_info("x", 1, [1, 4])],
            [onnx.helper.make_tensor_value_info("y", 1, [1, 4])],
        )
        model = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
        )
        rules = tmp_path / "rules.json"
        rules.write_text(
            json.dumps(
                {"defaults": {"ops": {}, "params": {}}, "params": {}, "op_type": {}, "supergroups": [],
                 "model_input": {"is_input_quantized": "True"}, "model_output": {}}
            )
        )  # fmt: skip
        sim = QuantizationSimModel(model, config_file=str(rules))
        for name, quantizer in sim.qc_quantize_op_dict.items():
            quantizer.enabled = name == "a"
        sim.compute_encodings([{"x": np.ones((1, 4), np.float32)}])
        sim.export(tmp_path, "out", export_model=False, encoding_version="2.0.0")
        assert [e["name"] for e in encodings(tmp_path)["encodings"]] == ["a"]

    @pytest.mark.parametrize("sign", ["unsigned", "signed"])
    def test_the_sign_that_is_asked_for_is_that_of_computed_tensors(self, tmp_path, sign):
        node = onnx.helper.make_node
        graph = onnx.helper.make_graph(
            [node("Sigmoid", ["x"], ["a"]), node("Max", ["a", "low"], ["y"])],
            "g",
            [onnx.helper.make_tensor_value_info("x", 1, [1, 4])],
            [onnx.helper.make_tensor_value_info("y", 1, [1, 4])],
            [onnx.numpy_helper.from_array(np.float32(0.5), "low")],
        )
        model = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
        )
        sim = QuantizationSimModel(model)
        sim.qc_quantize_op_dict["low"].enabled = True
        sim.qc_quantize_op_dict["low"].use_symmetric_encodings = True
        sim.compute_encodings([{"x": np.ones((1, 4), np.float32)}])
        sim.export(tmp_path, "m", export_model=False, encoding_version="1.0.0")
        qdq = encodings_to_onnx_qdq(model, tmp_path / "m.encodings", force_activation_as=sign)
        types = {i.name: i.data_type for i in qdq.graph.initializer}
        found = {
            n.output[0]: onnx.TensorProto.DataType.Name(types[n.input[2]])
            for n in qdq.graph.node
            if n.op_type == "DequantizeLinear"
        }
        assert found["low"] == "INT8"
        assert found["y"] == ("UINT8" if sign == "unsigned" else "INT8")

    def test_widths_that_onnx_does_not_have_are_refused(self, cnn, calibrate):
        with pytest.raises(bitsweep.Error, match="20 bits"):
            calibrate(cnn, param_type="int20").to_onnx_qdq()
