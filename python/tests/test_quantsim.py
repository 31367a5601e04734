"""Building a simulation and looking at it."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
import onnxruntime
import pytest

import bitsweep
import models
from bitsweep import QuantizationSimModel, int16
from bitsweep.common.defs import QuantizationDataType, QuantScheme
from models import Graph


class TestConstructor:
    def test_never_changes_the_callers_model(self, example, calibrate):
        for node in example.model.graph.node:
            node.name = ""
        before = example.model.SerializeToString(deterministic=True)
        sim = calibrate(example)
        sim.session.run(None, example.feeds[0])
        assert example.model.SerializeToString(deterministic=True) == before

    def test_takes_paths_and_bytes_too(self, cnn, tmp_path):
        path = tmp_path / "model.onnx"
        onnx.save(cnn.model, path)
        expected = list(QuantizationSimModel(cnn.model).qc_quantize_op_dict)
        for model in (path, str(path), cnn.model.SerializeToString()):
            assert list(QuantizationSimModel(model).qc_quantize_op_dict) == expected

    def test_takes_wrappers_that_hold_a_model_proto(self, cnn):
        class Wrapper:
            model = cnn.model

        assert QuantizationSimModel(Wrapper()).param_names

    def test_refuses_what_is_no_model(self):
        with pytest.raises(bitsweep.Error, match="a list is no ONNX model"):
            QuantizationSimModel([1, 2])

    def test_refuses_unknown_rules_types_and_schemes(self, cnn):
        with pytest.raises(bitsweep.Error, match="no_such_rules"):
            QuantizationSimModel(cnn.model, config_file="no_such_rules")
        with pytest.raises(ValueError, match="99"):
            QuantizationSimModel(cnn.model, param_type="int99")
        with pytest.raises(ValueError, match="min_max"):
            QuantizationSimModel(cnn.model, quant_scheme="best")

    def test_refuses_providers_that_it_does_not_have(self, cnn):
        with pytest.raises(bitsweep.Error, match="CUDAExecutionProvider"):
            QuantizationSimModel(cnn.model, providers=["CUDAExecutionProvider"])
        with pytest.raises(ValueError, match="not a list"):
            QuantizationSimModel(cnn.model, providers="CPUExecutionProvider")

    def test_takes_a_provider_with_options(self, cnn):
        sim = QuantizationSimModel(cnn.model, providers=[("CPUExecutionProvider", {})])
        assert sim.session.get_providers() == ["CPUExecutionProvider"]

    def test_session_options_are_checked(self, cnn):
        with pytest.raises(AttributeError, match="no_such_option"):
            QuantizationSimModel(cnn.model, session_options_kwargs={"no_such_option": 1})
        with pytest.warns(UserWarning, match="enable_profiling has no effect"):
            QuantizationSimModel(cnn.model, session_options_kwargs={"enable_profiling": True})

    @pytest.mark.parametrize(
        ("activations", "default"), [("int8", "ORT_ENABLE_ALL"), ("int16", "ORT_ENABLE_EXTENDED")]
    )
    def test_layouts_of_this_cpu_are_for_coarse_steps(self, activations, default):
        g = Graph()
        hidden = g.conv("x", 16, 16, "a")
        # So large that it is no small model, which is portable anyway.
        model = g.model({"x": (1, 16, 64, 64)}, {"y": g.conv(hidden, 16, 16, "b")})
        feed = {"x": models.normal(np.random.default_rng(1), 1, 16, 64, 64)}
        outputs = {}
        for level in ("ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL", None):
            options = {"intra_op_num_threads": 1}
            if level is not None:
                options["graph_optimization_level"] = getattr(
                    onnxruntime.GraphOptimizationLevel, level
                )
            sim = QuantizationSimModel(
                model, activation_type=activations, session_options_kwargs=options
            )
            sim.compute_encodings([feed])
            sim.qc_quantize_op_dict["y"].enabled = False  # so that last bits show
            outputs[level] = sim.session.run(None, feed)[0]
        np.testing.assert_array_equal(outputs[None], outputs[default])
        portable, fast = outputs["ORT_ENABLE_EXTENDED"], outputs["ORT_ENABLE_ALL"]
        np.testing.assert_allclose(portable, fast, atol=2 * np.ptp(fast) / 255)
        assert np.array_equal(portable, fast) == (activations == "int8")

    def test_refuses_optimization_levels_that_it_does_not_have(self, cnn):
        options = {"graph_optimization_level": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL}
        with pytest.raises(bitsweep.Error, match="ORT_ENABLE_EXTENDED"):
            QuantizationSimModel(cnn.model, session_options_kwargs=options)

    def test_makes_the_folder_for_temporary_files_and_cleans_it(self, cnn, tmp_path):
        folder = tmp_path / "a" / "b"
        sim = QuantizationSimModel(cnn.model, path=folder)
        assert folder.is_dir()
        del sim
        assert list(folder.iterdir()) == []

    def test_refuses_a_model_that_is_quantized_already(self):
        g = Graph()
        scale, zero = g.constant("s", np.float32(0.1)), g.constant("z", np.uint8(0))
        q = g.op("QuantizeLinear", ["x", scale, zero], "q")
        y = g.op("DequantizeLinear", [q, scale, zero], "dq")
        with pytest.raises(RuntimeError, match="QuantizeLinear"):
            QuantizationSimModel(g.model({"x": (1, 4)}, {"y": y}))

    def test_types_reach_parameters_and_activations(self, cnn):
        sim = QuantizationSimModel(cnn.model, param_type="int4", activation_type=int16)
        params, activations = sim.get_all_quantizers()
        assert {str(q.precision()) for q in params} == {"int4"}
        assert {str(q.precision()) for q in activations} == {"int16"}

    def test_percentile_scheme_is_taken_by_enum(self, cnn):
        sim = QuantizationSimModel(cnn.model, quant_scheme=QuantScheme.post_training_percentile)
        assert sim.qc_quantize_op_dict["x"].native.scheme == "percentile"


class TestLegacySignature:
    def test_of_the_notebook_works_with_a_warning(self, cnn):
        with pytest.warns(DeprecationWarning, match="param_type"):
            sim = QuantizationSimModel(
                model=cnn.model,
                quant_scheme=QuantScheme.post_training_tf_enhanced,
                default_activation_bw=8,
                default_param_bw=4,
                use_cuda=False,
            )
        assert sim.qc_quantize_op_dict["conv1.weight"].bitwidth == 4
        assert sim.qc_quantize_op_dict["x"].native.scheme == "tf_enhanced"

    def test_takes_positions(self, cnn):
        with pytest.warns(DeprecationWarning, match="older signature"):
            sim = QuantizationSimModel(cnn.model, None, "tf", "nearest", 4, 16)
        assert sim.qc_quantize_op_dict["conv1.weight"].bitwidth == 4
        assert sim.qc_quantize_op_dict["x"].bitwidth == 16

    def test_takes_float_as_data_type(self, cnn):
        with pytest.warns(DeprecationWarning, match="older signature"):
            sim = QuantizationSimModel(
                cnn.model,
                default_param_bw=16,
                default_activation_bw=16,
                default_data_type=QuantizationDataType.float,
            )
        assert str(sim.qc_quantize_op_dict["x"].precision()) == "float16"

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_refuses_contradictions(self, cnn):
        with pytest.raises(TypeError, match="rounding_mode"):
            QuantizationSimModel(cnn.model, rounding_mode="stochastic")
        with pytest.raises(RuntimeError, match="param_type"):
            QuantizationSimModel(cnn.model, default_param_bw=8, param_type="int8")
        with pytest.raises(RuntimeError, match="providers"):
            QuantizationSimModel(cnn.model, use_cuda=True, providers=["CPUExecutionProvider"])
        with pytest.raises(TypeError, match="twice"):
            QuantizationSimModel(cnn.model, None, "tf", quant_scheme="tf")
        with pytest.raises(TypeError, match="no_such"):
            QuantizationSimModel(cnn.model, no_such=1)

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_use_cuda_is_refused_by_name(self, cnn):
        with pytest.raises(bitsweep.Error, match="CUDAExecutionProvider"):
            QuantizationSimModel(cnn.model, use_cuda=True)

    def test_the_new_signature_does_not_warn(self, cnn):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            QuantizationSimModel(cnn.model, param_type="int8")


class TestContents:
    def test_parameters_come_first_in_the_dictionary(self, cnn_sim):
        names = list(cnn_sim.qc_quantize_op_dict)
        assert names == [*cnn_sim.param_names, *cnn_sim.activation_names]
        assert "conv1.weight" in cnn_sim.param_names
        assert "x" in cnn_sim.activation_names

    def test_quantizers_are_the_same_objects_at_every_access(self, cnn_sim):
        assert cnn_sim.qc_quantize_op_dict["x"] is cnn_sim.qc_quantize_op_dict["x"]
        assert cnn_sim.get_qc_quantize_op() is cnn_sim.qc_quantize_op_dict

    def test_describe_lists_every_float_tensor_of_the_model(self, example, calibrate):
        sim = calibrate(example)
        listed = {row.tensor for row in sim.describe()}
        graph = onnx.shape_inference.infer_shapes(example.model).graph
        values = [*graph.input, *graph.output, *graph.value_info]
        types = {v.name: v.type.tensor_type.elem_type for v in values}
        types |= {t.name: t.data_type for t in graph.initializer}
        read = {t for n in graph.node for t in (*n.input, *n.output) if t}
        assert {t for t in read if types[t] == onnx.TensorProto.FLOAT} <= listed
        assert all(row.reason or row.status in ("quantized", "tied") for row in sim.describe())

    def test_operators_give_their_quantizers(self, cnn_sim):
        q = cnn_sim.qc_quantize_op_dict
        inputs, outputs, parameters = cnn_sim.get_op_quantizers("conv1")
        assert inputs == [q["x"]]
        assert outputs == [q["conv1.out"]]
        assert parameters == {"weight": q["conv1.weight"], "bias": q["conv1.bias"]}
        with pytest.raises(KeyError, match="no_such"):
            cnn_sim.get_op_quantizers("no_such")

    def test_float_model_comes_back_with_its_own_names(self, cnn, cnn_sim):
        proto = cnn_sim.model.model
        assert [n.op_type for n in proto.graph.node] == [n.op_type for n in cnn.model.graph.node]
        assert [o.name for o in proto.graph.output] == ["y"]
        assert cnn_sim.model.graph() == proto.graph

    def test_set_quantizers_ties_tensors(self, cnn, cnn_sim):
        q = cnn_sim.qc_quantize_op_dict
        cnn_sim.set_quantizers({"relu1.out": q["x"]})
        assert q["relu1.out"] is q["x"]
        cnn_sim.compute_encodings(cnn.feeds)
        low = q["x"].get_encodings()[0].min
        assert low < -1
        with pytest.raises(bitsweep.Error, match="no_such"):
            cnn_sim.set_quantizers({"no_such": q["x"]})


class TestTensorPrecision:
    def test_changes_the_quantizer_that_decides_the_values(self, calibrate):
        sim = calibrate(models.branchy())
        q = sim.qc_quantize_op_dict
        sim.set_tensor_precision("stem.relu.out", int16)
        assert q["stem.relu.out"].bitwidth == 16
        sim.set_tensor_precision(["x", "down.relu.out"], "float16")
        assert str(q["x"].precision()) == "float16"

    def test_reaches_through_data_movement(self, cnn_sim):
        cnn_sim.set_tensor_precision("flatten.out", int16)
        assert cnn_sim.qc_quantize_op_dict["gap.out"].bitwidth == 16

    def test_norm_weights_follow(self, calibrate):
        sim = calibrate(models.transformer())
        sim.set_tensor_precision("l0.norm1.weight", "int4")
        assert sim.qc_quantize_op_dict["l0.norm1.weight"].bitwidth == 8

    def test_strict_refuses_tensors_without_quantizer_and_changes_nothing(self, cnn_sim):
        cnn_sim.qc_quantize_op_dict["x"].enabled = False
        for bad in ("no_such", "x"):
            with pytest.raises(ValueError, match=bad):
                cnn_sim.set_tensor_precision(["gap.out", bad], int16)
            assert cnn_sim.qc_quantize_op_dict["gap.out"].bitwidth == 8
            cnn_sim.set_tensor_precision(["fc.weight", bad], int16, strict=False)
        assert cnn_sim.qc_quantize_op_dict["fc.weight"].bitwidth == 16


class TestTies:
    @pytest.fixture
    def sim(self):
        g = Graph()
        a = g.op("Tanh", ["a"], "left")
        b = g.op("Sigmoid", ["b"], "right")
        y = g.op("Concat", [a, b], "join", axis=1)
        return QuantizationSimModel(g.model({"a": (1, 4), "b": (1, 4)}, {"y": y}))

    def test_tied_tensors_share_one_object(self, sim):
        q = sim.qc_quantize_op_dict
        assert q["left.out"] is q["y"]
        assert q["right.out"] is q["y"]
        assert q["a"] is not q["b"]

    def test_a_change_shows_under_every_name(self, sim):
        q = sim.qc_quantize_op_dict
        q["y"].set_bitwidth(4)
        q["left.out"].enabled = False
        assert q["right.out"].bitwidth == 4
        assert not q["y"].enabled

    def test_statistics_are_the_union(self, sim):
        feed = {"a": np.full((1, 4), -2, np.float32), "b": np.full((1, 4), 3, np.float32)}
        sim.compute_encodings([feed])
        encoding = sim.qc_quantize_op_dict["y"].get_encodings()[0]
        assert encoding.min == pytest.approx(np.tanh(-2), abs=0.02)
        assert encoding.max == pytest.approx(1 / (1 + np.exp(-3)), abs=0.02)
