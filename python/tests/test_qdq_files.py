"""QDQ models and TensorQuantOverrides: read back, verified, and understood by ONNX Runtime's own tools."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnxruntime.quantization import QuantType
from onnxruntime.quantization.tensor_quant_overrides import TensorQuantOverridesHelper

import bitsweep
from bitsweep.quantsim import QuantizationSimModel


@pytest.fixture
def sim(cnn):
    sim = QuantizationSimModel(cnn.model, config_file="htp_v81")
    sim.compute_encodings(cnn.feeds)
    return sim


def outputs(sim, feed):
    return sim.session.run(None, feed)


class TestFromOnnxQdq:
    @pytest.mark.parametrize("integers", [False, True])
    def test_computes_the_very_outputs_of_what_was_exported(self, cnn, sim, integers):
        again = QuantizationSimModel.from_onnx_qdq(sim.to_onnx_qdq(prequantize_constants=integers))
        for feed in cnn.feeds:
            for want, got in zip(outputs(sim, feed), outputs(again, feed), strict=True):
                np.testing.assert_array_equal(want, got)

    @pytest.mark.parametrize("half", ["float16", "bfloat16"])
    def test_half_activations_come_back_from_casts(self, cnn, half):
        sim = QuantizationSimModel(cnn.model, activation_type=half)
        sim.compute_encodings(cnn.feeds)
        model = sim.to_onnx_qdq(float16_casts=True)
        onnx.checker.check_model(model, full_check=True)
        assert sim.verify(model, cnn.feeds, latency_runs=0).passed
        again = QuantizationSimModel.from_onnx_qdq(model)
        for want, got in zip(outputs(sim, cnn.feeds[0]), outputs(again, cnn.feeds[0]), strict=True):
            np.testing.assert_array_equal(want, got)
        assert "Cast" not in {node.op_type for node in sim.to_onnx_qdq().graph.node}

    @pytest.mark.parametrize("integers", [False, True])
    @pytest.mark.parametrize("activations", ["int2", "int8"])
    def test_types_of_two_bits_compute_as_four_do_and_come_back(self, cnn, integers, activations):
        sim = QuantizationSimModel(cnn.model, param_type="int2", activation_type=activations)
        sim.compute_encodings(cnn.feeds)
        model = sim.to_onnx_qdq(two_bit_types=True, prequantize_constants=integers)
        two_bits = {onnx.TensorProto.INT2, onnx.TensorProto.UINT2}
        assert two_bits & {t.data_type for t in model.graph.initializer}
        assert [o.version for o in model.opset_import if not o.domain] == [25]
        # ONNX Runtime 1.32 opens it without optimizations only.
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = ort.InferenceSession(model.SerializeToString(), options)
        four_bits = ort.InferenceSession(
            sim.to_onnx_qdq(prequantize_constants=integers).SerializeToString(), options
        )
        np.testing.assert_array_equal(
            session.run(None, cnn.feeds[0])[0], four_bits.run(None, cnn.feeds[0])[0]
        )
        again = QuantizationSimModel.from_onnx_qdq(model)
        for feed in cnn.feeds:
            for want, got in zip(outputs(sim, feed), outputs(again, feed), strict=True):
                np.testing.assert_array_equal(want, got)

    def test_says_which_codes_of_two_bits_lie_in_four(self, cnn):
        sim = QuantizationSimModel(cnn.model, param_type="int2")
        sim.compute_encodings(cnn.feeds)
        notes = sim.target_notes("onnx")
        assert notes
        assert all("opset 25" in note.what for note in notes)
        assert {t.data_type for t in sim.to_onnx_qdq().graph.initializer} & {onnx.TensorProto.INT4}
        # The fused product of ONNX Runtime is wrong for a matrix with 10 columns.
        kept = [n.tensor for n in sim.target_notes("onnx", two_bit_types=True)]
        shapes = {t.name: list(t.dims) for t in cnn.model.graph.initializer}
        assert all(any(side % 4 for side in shapes[name]) for name in kept)

    def test_reads_what_the_quantizer_of_onnx_runtime_wrote(self, cnn, tmp_path):
        from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

        class Reader(CalibrationDataReader):
            def __init__(self):
                self.left = iter(cnn.feeds)

            def get_next(self):
                return next(self.left, None)

        source, target = tmp_path / "m.onnx", tmp_path / "q.onnx"
        onnx.save(cnn.model, source)
        quantize_static(
            source, target, Reader(), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8
        )
        again = QuantizationSimModel.from_onnx_qdq(target)
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = ort.InferenceSession(target, options, providers=["CPUExecutionProvider"])
        want, got = session.run(None, cnn.feeds[0])[0], outputs(again, cnn.feeds[0])[0]
        spread = float(np.ptp(want))
        assert np.abs(want - got).max() <= 2 * spread / 255  # half steps may round the other way

    def test_names_what_does_not_map(self, sim):
        model = sim.to_onnx_qdq()
        last = next(n for n in reversed(model.graph.node) if n.op_type == "DequantizeLinear")
        scale = next(i for i in model.graph.initializer if i.name == last.input[1])
        twin = onnx.TensorProto()
        twin.CopyFrom(scale)
        twin.name = "another scale"
        twin.raw_data = np.float32(7).tobytes()
        model.graph.initializer.append(twin)
        last.input[1] = twin.name
        with pytest.raises(bitsweep.Error, match=f'"{last.name}".*is not that of'):
            QuantizationSimModel.from_onnx_qdq(model)


class TestVerify:
    def test_passes_for_the_model_of_the_simulation(self, cnn, sim):
        result = sim.verify(sim.to_onnx_qdq(), cnn.feeds)
        assert result.passed
        assert [check.loads for check in result.loads] == [True] * 4
        assert result.num_samples == len(cnn.feeds)

    def test_passes_for_the_files_alone(self, cnn, sim):
        assert bitsweep.verify(cnn.model, sim.to_onnx_qdq(), cnn.feeds).passed

    def test_quantize_writes_and_checks(self, cnn, tmp_path):
        result = bitsweep.quantize(cnn.model, cnn.feeds, tmp_path / "q.onnx", param_type="int4")
        assert result is not None
        assert result.passed
        onnx.checker.check_model(onnx.load(tmp_path / "q.onnx"), full_check=True)

    def test_quantize_writes_for_a_target(self, cnn, tmp_path):
        with pytest.warns(UserWarning, match=r'for tensorrt, ".*more: see sim.target_notes'):
            result = bitsweep.quantize(
                cnn.model, cnn.feeds, tmp_path / "q.onnx", target="tensorrt", activations="signed"
            )
        assert result is not None
        assert result.passed
        model = onnx.load(tmp_path / "q.onnx")
        values = {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
        pairs = [n for n in model.graph.node if n.op_type == "DequantizeLinear"]
        assert pairs
        assert not any(values[n.input[2]].any() for n in pairs)
        with pytest.raises(bitsweep.Error, match=r'".+" is int16: TensorRT has'):
            bitsweep.quantize(
                cnn.model,
                cnn.feeds,
                tmp_path / "r.onnx",
                target="tensorrt",
                activation_type="int16",
            )
        assert not (tmp_path / "r.onnx").exists()

    @pytest.mark.parametrize("kind", ["weight", "bias", "other operator"])
    def test_finds_the_first_tensor_of_a_broken_file(self, cnn, sim, kind):
        model = sim.to_onnx_qdq(prequantize_constants=True, export_int32_bias=True)
        first = break_second_layer(model, kind)
        result = sim.verify(model, cnn.feeds, latency_runs=0)
        assert not result.passed
        assert result.first_disagreement is not None
        assert result.first_disagreement.tensor == first
        assert result.first_disagreement.max_steps > 1

    def test_meets_the_simulation_where_weights_come_from_constant_nodes(self, cnn):
        model = onnx.ModelProto()
        model.CopyFrom(cnn.model)
        constants = [
            onnx.helper.make_node("Constant", [], [i.name], name=f"make {i.name}", value=i)
            for i in model.graph.initializer
        ]
        nodes = [*constants, *model.graph.node]
        del model.graph.initializer[:], model.graph.node[:]
        model.graph.node.extend(nodes)
        again = QuantizationSimModel(model)
        again.compute_encodings(cnn.feeds)
        qdq = again.to_onnx_qdq(prequantize_constants=True, export_int32_bias=True)
        assert onnx.TensorProto.INT32 in {i.data_type for i in qdq.graph.initializer}
        assert again.verify(qdq, cnn.feeds, latency_runs=0).passed

    @pytest.mark.parametrize("opset", [9, 11])
    def test_old_opsets_are_converted(self, tmp_path, opset):
        model = old_network(opset)
        feeds = [{"x": np.random.default_rng(i).normal(size=(1, 3, 4, 4)).astype(np.float32)} for i in range(2)]  # fmt: skip
        result = bitsweep.quantize(model, feeds, tmp_path / "q.onnx", param_type="int4")
        assert result is not None
        assert result.passed
        written = onnx.load(tmp_path / "q.onnx")
        onnx.checker.check_model(written, full_check=True)
        assert written.opset_import[0].version == 21


def break_second_layer(model, kind):
    """Changes an exported model; returns the tensor that is the first to show it."""
    if kind == "other operator":
        relu = [node for node in model.graph.node if node.op_type == "Relu"][1]
        relu.op_type = "Abs"
        return relu.output[0].removesuffix("_float")
    made = {node.output[0]: node for node in model.graph.node}
    layer = [node for node in model.graph.node if node.op_type == "Conv"][1]
    tensor = layer.input[1 if kind == "weight" else 2]
    stored = next(i for i in model.graph.initializer if i.name == made[tensor].input[0])
    stored.CopyFrom(
        onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(stored) // 4, stored.name)
    )
    return tensor


def old_network(opset):
    """Operators that newer opsets say in another way, and a Softmax over all axes but the first."""
    make = onnx.helper.make_node
    random = np.random.default_rng(3)
    weight = random.normal(size=(4, 3, 1, 1)).astype(np.float32)
    nodes = [
        make("Conv", ["x", "w"], ["a"], name="conv"),
        make("Softmax", ["a"], ["s"], name="softmax", axis=1),
        make("ReduceSum", ["s"], ["r"], name="sum", axes=[1]),
        make("Squeeze", ["r"], ["q"], name="squeeze", axes=[1]),
    ]
    if opset < 11:
        nodes += [
            make("Clip", ["a"], ["c"], name="clip", min=-1.0, max=1.0),
            make("Upsample", ["c", "scales"], ["u"], name="up", mode="nearest"),
            make("Slice", ["u"], ["y"], name="slice", starts=[1], ends=[7], axes=[2]),
        ]
    else:
        nodes += [make("Identity", ["a"], ["y"], name="same")]
    inputs = [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, 4, 4])]
    shapes = {"y": [1, 4, 6, 8] if opset < 11 else [1, 4, 4, 4], "q": [1, 4, 4]}
    outputs = [
        onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in shapes.items()
    ]
    weights = [onnx.numpy_helper.from_array(weight, "w")]
    if opset < 11:
        weights.append(onnx.numpy_helper.from_array(np.float32([1, 1, 2, 2]), "scales"))
    graph = onnx.helper.make_graph(nodes, "old", inputs, outputs, weights)
    return onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=4
    )


class TestOrtOverrides:
    def test_pass_the_check_of_onnx_runtime(self, sim):
        overrides = sim.to_ort_overrides()
        helper = TensorQuantOverridesHelper(overrides)
        model = sim.model.model
        initializers = {i.name: i for i in model.graph.initializer}
        names = set(overrides) - set(initializers)
        valid, reason = helper.is_valid(initializers, names, QuantType.QUInt8)
        assert valid, reason

    def test_give_the_same_outputs_when_read(self, cnn, sim):
        other = QuantizationSimModel(cnn.model, config_file="htp_v81")
        other.load_ort_overrides(sim.to_ort_overrides())
        for want, got in zip(outputs(sim, cnn.feeds[0]), outputs(other, cnn.feeds[0]), strict=True):
            np.testing.assert_array_equal(want, got)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"quant_type": "QFloat3"}, "QFloat3"),
            ({"scale": -1.0}, "not positive"),
            ({"zero_point": 300}, "can't hold"),
            ({"scale": None}, "no number"),
        ],
    )
    def test_broken_ones_are_one_sentence(self, sim, change, words):
        name = sim.activation_names[0]
        item = {"quant_type": "QUInt8", "scale": 0.5, "zero_point": 3} | change
        with pytest.raises(bitsweep.Error, match=words):
            sim.load_ort_overrides({name: [item]})
