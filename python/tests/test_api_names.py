"""Names and arguments that scripts of the peer use: each is there, in the peer's order."""

from __future__ import annotations

import inspect
import json

import pytest

import models
from bitsweep import QuantizationSimModel, quantsim
from bitsweep.batch_norm_fold import fold_all_batch_norms_to_weight
from bitsweep.common.defs import QuantizationDataType
from bitsweep.cross_layer_equalization import equalize_model
from bitsweep.errors import Error
from bitsweep.mixed_precision import choose_mixed_precision
from bitsweep.qc_quantize_op import QcQuantizeOp
from models import Graph

CALLS = [
    (
        QuantizationSimModel,
        "model param_type activation_type quant_scheme config_file dummy_input user_onnx_libs providers path",
    ),
    (QuantizationSimModel.compute_encodings, "self inputs"),
    (QuantizationSimModel.set_quantizers, "self quantizer_dict"),
    (QuantizationSimModel.get_op_quantizers, "self op"),
    (QuantizationSimModel.get_all_quantizers, "self"),
    (QuantizationSimModel.get_qc_quantize_op, "self"),
    (QuantizationSimModel.set_tensor_precision, "self"),
    (QuantizationSimModel.set_and_freeze_param_encodings, "self encoding_path"),
    (QuantizationSimModel.export, "self path filename_prefix export_model"),
    (QuantizationSimModel.to_onnx_qdq, "self"),
    (QuantizationSimModel.from_onnx_qdq, "model"),
    (QuantizationSimModel.fold_param_quantizers, "self"),
    (QuantizationSimModel.get_supported_kernels, "self"),
    (quantsim.load_encodings_to_sim, "quant_sim_model onnx_encoding_path strict"),
    (quantsim.set_blockwise_quantization_for_weights, "sim op_types bitwidth symmetric block_size"),
    (quantsim.set_lpbq_for_params, "sim bitwidth block_size"),
    (quantsim.set_param_type, "sim param_type"),
    (quantsim.clamp_activation_encodings, "quant_sim clamp_val"),
    (quantsim.compute_encodings, "sim"),
    (fold_all_batch_norms_to_weight, "model"),
    (equalize_model, "model"),
    (QcQuantizeOp.set_bitwidth, "self bitwidth"),
    (QcQuantizeOp.set_precision, "self precision"),
    (QcQuantizeOp.set_quant_scheme, "self quant_scheme"),
    (QcQuantizeOp.set_fixed_encoding_range, "self"),
    (QcQuantizeOp.set_zero_point_shift, "self"),
    (QcQuantizeOp.set_qspec, "self spec"),
    (QcQuantizeOp.enable_per_channel_quantization, "self"),
    (QcQuantizeOp.load_encodings, "self"),
    (QcQuantizeOp.get_encodings, "self"),
    (QcQuantizeOp.compute_encodings, "self"),
    (QcQuantizeOp.update_quantizer_and_load_encodings, "self"),
    (QcQuantizeOp.update_encoding_stats, "self tensor"),
    (QcQuantizeOp.reset_encoding_stats, "self"),
    (QcQuantizeOp.get_stats_histogram, "self"),
    (QcQuantizeOp.freeze_encodings, "self"),
    (QcQuantizeOp.is_encoding_frozen, "self"),
    (QcQuantizeOp.is_initialized, "self"),
    (QcQuantizeOp.quantize_dequantize, "self input_tensor"),
]

KEYWORDS = [
    (QuantizationSimModel.set_tensor_precision, "strict"),
    (QuantizationSimModel.export, "export_int32_bias encoding_version force_activation_as"),
    (
        QuantizationSimModel.to_onnx_qdq,
        "export_int32_bias prequantize_constants force_activation_as",
    ),
    (quantsim.load_encodings_to_sim, "allow_overwrite disable_missing_quantizers"),
]

PROPERTIES = [
    (QuantizationSimModel, "session model qc_quantize_op_dict param_names activation_names"),
    (
        QcQuantizeOp,
        "enabled bitwidth data_type use_symmetric_encodings use_strict_symmetric use_unsigned_symmetric op_mode"
        " encodings quant_info",
    ),
]


@pytest.mark.parametrize(("function", "names"), CALLS, ids=lambda v: getattr(v, "__name__", ""))
def test_arguments_are_those_of_the_peer(function, names):
    parameters = inspect.signature(function).parameters.values()
    given = [p.name for p in parameters if p.kind != p.VAR_POSITIONAL]  # of the older signature
    assert given[: len(names.split())] == names.split()


@pytest.mark.parametrize(("function", "names"), KEYWORDS, ids=lambda v: getattr(v, "__name__", ""))
def test_keywords_are_those_of_the_peer(function, names):
    assert set(names.split()) <= set(inspect.signature(function).parameters)


@pytest.mark.parametrize(("owner", "names"), PROPERTIES, ids=lambda v: getattr(v, "__name__", ""))
def test_properties_are_those_of_the_peer(owner, names):
    for name in names.split():
        assert isinstance(getattr(owner, name), property), name


def test_folded_parameters_keep_their_encodings(cnn, cnn_sim):
    before = cnn_sim.session.run(None, cnn.feeds[0])[0]
    cnn_sim.fold_param_quantizers()
    weights, activations = cnn_sim.get_all_quantizers()
    assert all(q.is_encoding_frozen() for q in weights if q.enabled)
    assert not any(q.is_encoding_frozen() for q in activations)
    weights[0].set_bitwidth(2)  # without effect on a frozen quantizer
    assert (cnn_sim.session.run(None, cnn.feeds[0])[0] == before).all()


def test_parameters_without_encodings_are_not_folded(cnn):
    sim = QuantizationSimModel(cnn.model)
    for quantizer in sim.get_all_quantizers()[0]:
        quantizer.reset_encoding_stats()
    with pytest.raises(Error, match="has no encoding"):
        sim.fold_param_quantizers()
    assert not any(q.is_encoding_frozen() for q in sim.qc_quantize_op_dict.values())


def test_kernels_come_as_candidates_of_mixed_precision(tmp_path):
    def kernel(activation, **parameter):
        types = {"activation": activation, **parameter}
        return {k: {"bitwidth": bits, "dtype": "int"} for k, bits in types.items()}

    rules = {
        "defaults": {
            "ops": {"is_output_quantized": "True"},
            "params": {"is_quantized": "True"},
            "supported_kernels": [kernel(16, param=8), kernel(8, param=8)],
        },
        "params": {},
        "op_type": {"Sigmoid": {"supported_kernels": [kernel(8)]}},
        "supergroups": [],
        "model_input": {"is_input_quantized": "True"},
        "model_output": {},
    }
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(rules))
    g = Graph()
    y = g.op("Sigmoid", [g.gemm("x", 4, 4, "g")], "s")
    model = g.model({"x": (1, 4)}, {"y": y})
    integer = QuantizationDataType.int
    sim = QuantizationSimModel(model, config_file=path)
    kernels = sim.get_supported_kernels()
    assert kernels == {
        "defaults": [((16, integer), (8, integer)), ((8, integer), (8, integer))],
        "Sigmoid": [((8, integer),)],
    }
    assert QuantizationSimModel(model).get_supported_kernels() == {}

    def score(session):
        return 1.0

    feed = {"x": models.normal(models.np.random.default_rng(0), 1, 4)}
    sim.compute_encodings([feed])
    choose_mixed_precision(
        sim,
        kernels["defaults"],
        score,
        score,
        0.5,
        str(tmp_path),
        True,
        lambda s: s.run(None, feed),
    )


@pytest.mark.parametrize("overwrite", [True, False])
def test_encodings_of_a_file_may_be_kept_for_good(cnn, cnn_sim, tmp_path, overwrite):
    cnn_sim.export(tmp_path, "out", export_model=False)
    other = QuantizationSimModel(cnn.model)
    quantsim.load_encodings_to_sim(
        other, tmp_path / "out.encodings", strict=False, allow_overwrite=overwrite
    )
    name = other.activation_names[0]
    loaded = other.qc_quantize_op_dict[name].get_encodings()[0].max
    other.compute_encodings([{n: 10 * a for n, a in cnn.feeds[0].items()}])
    kept = other.qc_quantize_op_dict[name].get_encodings()[0].max == loaded
    assert kept is not overwrite
