"""Functions that set the parameters of many operators at once."""

from __future__ import annotations

import numpy as np
import pytest

import bitsweep
from bitsweep import QSpec, QuantizationSimModel
from bitsweep.errors import Error
from bitsweep.quantsim import (
    clamp_activation_encodings,
    set_blockwise_quantization_for_weights,
    set_grouped_blockwise_quantization_for_weights,
    set_lpbq_for_params,
    set_param_type,
)
from situations import build, node, normal, samples


@pytest.fixture
def model():
    """A convolution with 3 input channels, which no block size but 3 divides, and a product with 16."""
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], name="conv"),
        node("Reshape", ["c", "shape"], ["r"]),
        node("MatMul", ["r", "v"], ["y"], name="product"),
    ]
    weights = {
        "w": normal(4, 3, 1, 1),
        "b": normal(4),
        "shape": np.array([1, 16], np.int64),
        "v": normal(16, 8),
    }
    return build(nodes, {"x": [1, 3, 2, 2]}, weights)


@pytest.fixture
def sim(model):
    return QuantizationSimModel(model)


def settings(sim, tensor):
    quantizer = sim.qc_quantize_op_dict[tensor]
    return quantizer.bitwidth, quantizer.quant_info.blockSize


def test_blocks_are_set_where_they_fit(sim):
    with pytest.warns(UserWarning, match='1 of the parameters stay.*"w"$'):
        set_blockwise_quantization_for_weights(sim, ("Conv", "MatMul"), 4, False, 8)
    assert settings(sim, "v") == (4, 8)
    assert not sim.qc_quantize_op_dict["v"].use_symmetric_encodings
    assert settings(sim, "w") == (8, 0)
    sim.compute_encodings(samples(2, x=[1, 3, 2, 2]))
    assert len(sim.qc_quantize_op_dict["v"].get_encodings()) == 2 * 8


def test_a_block_size_that_does_not_fit_is_refused_when_strict(sim):
    with pytest.raises(ValueError, match="block size 2 does not divide"):
        set_blockwise_quantization_for_weights(sim, "Conv", 4, True, 2, strict=True)
    assert settings(sim, "w") == (8, 0)


@pytest.mark.parametrize("old_name", [False, True])
def test_excluded_operators_stay_as_they_are(sim, old_name):
    if old_name:
        with pytest.warns(DeprecationWarning, match="excluded_nodes"):
            set_blockwise_quantization_for_weights(
                sim, "MatMul", 4, True, 8, excluded_nodes=["product"]
            )
    else:
        set_blockwise_quantization_for_weights(
            sim, "MatMul", 4, True, 8, nodes_to_exclude=["product"]
        )
    assert settings(sim, "v") == (8, 0)


def test_lpbq_scales_have_the_bits_of_the_weights_or_what_is_left_to_the_wide_type(sim, model):
    set_lpbq_for_params(sim, 4, 8, nodes_to_include={"product"})
    assert settings(sim, "v") == (4, 8)
    assert sim.qc_quantize_op_dict["v"].native.lpbq_scale_bits == 4
    (row,) = [r for r in sim.describe() if r.tensor == "v"]
    assert row.format == "int4 symmetric blocks of 8 along axis 0 with 4-bit scales (LPBQ)"
    other = QuantizationSimModel(model)
    with pytest.warns(DeprecationWarning, match="set_lpbq_for_params"):
        set_grouped_blockwise_quantization_for_weights(other, "MatMul", 4, 10, 8)
    assert other.qc_quantize_op_dict["v"].native.lpbq_scale_bits == 6


def test_types_reach_all_parameters_but_biases_or_those_named(sim):
    set_param_type(sim, "int16")
    assert settings(sim, "w")[0] == settings(sim, "v")[0] == 16
    assert settings(sim, "b")[0] == 8
    set_param_type(sim, QSpec.per_tensor("int4", symmetric=False), op_types="Conv")
    assert settings(sim, "w")[0] == 4
    assert settings(sim, "v")[0] == 16
    assert not sim.qc_quantize_op_dict["w"].quant_info.usePerChannelMode
    set_param_type(sim, bitsweep.int2, nodes_to_include=["product"], shift_zero_point=True)
    assert sim.qc_quantize_op_dict["v"].get_zero_point_shift() == 0.5


def test_operators_that_do_not_exist_are_named(sim):
    for call in (
        lambda: set_param_type(sim, "int4", nodes_to_include=["convolution"]),
        lambda: set_lpbq_for_params(sim, 4, 8, op_types="Conv", nodes_to_exclude=["convolution"]),
    ):
        with pytest.raises(Error, match='"convolution"'):
            call()


def test_contradictions_are_refused(sim):
    with pytest.raises(ValueError, match="op_types or nodes_to_include"):
        set_lpbq_for_params(sim, 4, 8)
    with pytest.raises(ValueError, match="nodes_to_include and op_types"):
        set_param_type(sim, "int4", op_types="Conv", nodes_to_include=["conv"])
    with pytest.raises(ValueError, match="int2"):
        set_param_type(sim, "int4", shift_zero_point=True)
    with pytest.raises(TypeError, match="strict"):
        set_lpbq_for_params(sim, 4, 8, nodes_to_include=["conv"], strict=True)


def test_ranges_of_activations_are_clamped(sim):
    sim.compute_encodings(samples(2, x=[1, 3, 2, 2]))
    clamp_activation_encodings(sim, 0.5)
    for name in sim.activation_names:
        for e in sim.qc_quantize_op_dict[name].get_encodings() or ():
            assert e.min >= -0.51
            assert e.max <= 0.51


class TestHistograms:
    def test_hold_the_share_of_each_bucket(self, model):
        sim = QuantizationSimModel(model, quant_scheme="tf_enhanced")
        with pytest.raises(RuntimeError, match="no encoding"):
            sim.qc_quantize_op_dict["x"].get_stats_histogram()
        sim.compute_encodings(samples(1, x=[1, 3, 2, 2]))
        (buckets,) = sim.qc_quantize_op_dict["x"].get_stats_histogram()
        edges = [left for left, _ in buckets]
        assert edges == sorted(edges)
        assert sum(share for _, share in buckets) == pytest.approx(1.0)
        assert len(sim.qc_quantize_op_dict["w"].get_stats_histogram()) == 4

    def test_are_not_kept_by_min_max(self, sim):
        sim.compute_encodings(samples(2, x=[1, 3, 2, 2]))
        with pytest.raises(RuntimeError, match="tf_enhanced"):
            sim.qc_quantize_op_dict["x"].get_stats_histogram()

    def test_see_later_batches_when_they_grow(self, model):
        small, large = samples(2, x=[1, 3, 2, 2])
        large = {"x": large["x"] * 100}
        reached = {}
        for support in ("first_batch", "growing"):
            sim = QuantizationSimModel(model, quant_scheme="percentile")
            sim.set_histogram_support(support)
            assert sim.qc_quantize_op_dict["x"].get_histogram_support() == support
            sim.compute_encodings([small, large])
            reached[support] = sim.qc_quantize_op_dict["x"].get_encodings()[0].max
        assert reached["growing"] >= 0.99 * large["x"].max()
        assert reached["first_batch"] < 0.2 * reached["growing"]

    def test_of_another_name_are_refused(self, sim):
        with pytest.raises(ValueError, match="first_batch or growing"):
            sim.set_histogram_support("shrinking")


def test_op_mode_says_what_a_run_does(sim):
    from bitsweep.qc_quantize_op import OpMode

    quantizer = sim.qc_quantize_op_dict["x"]
    assert quantizer.op_mode is OpMode.quantizeDequantize
    quantizer.op_mode = OpMode.passThrough
    assert not quantizer.enabled
    assert quantizer.quant_info.opMode == OpMode.passThrough
    with pytest.raises(ValueError, match="compute_encodings"):
        quantizer.op_mode = OpMode.updateStats
