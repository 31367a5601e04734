"""State rules of a live quantizer."""

from __future__ import annotations

import numpy as np
import pytest

from bitsweep import QSpec, float8e4m3fn, float16, int4, int8, int16
from bitsweep.common.defs import EncodingInfo, QuantizationDataType
from bitsweep.defs import Blockwise


@pytest.fixture
def x(cnn_sim):
    return cnn_sim.qc_quantize_op_dict["x"]


@pytest.fixture
def weight(cnn_sim):
    return cnn_sim.qc_quantize_op_dict["conv2.weight"]


def test_switching_acts_at_the_next_run(cnn, cnn_sim, x):
    on = cnn_sim.session.run(None, cnn.feeds[0])[0]
    x.enabled = False
    off = cnn_sim.session.run(None, cnn.feeds[0])[0]
    x.enabled = True
    np.testing.assert_array_equal(cnn_sim.session.run(None, cnn.feeds[0])[0], on)
    assert not np.array_equal(on, off)


def test_loaded_encodings_act_at_the_next_run(cnn, cnn_sim, x):
    before = cnn_sim.session.run(None, cnn.feeds[0])[0]
    x.load_encodings([EncodingInfo(-1.28, 1.27, 0.01, -128, 8)])
    assert not np.array_equal(cnn_sim.session.run(None, cnn.feeds[0])[0], before)
    assert x.get_encodings()[0].delta == 0.01


def test_bitwidth_drops_the_encoding_and_keeps_the_statistics(x):
    x.set_bitwidth(4)
    assert x.get_encodings() is None
    assert not x.is_initialized()
    assert x.compute_encodings()[0].bw == 4
    assert x.precision() == int4


def test_equal_precision_changes_nothing(x):
    before = x.get_encodings()
    x.set_precision(int8)
    x.set_bitwidth(8)
    assert x.get_encodings() == before


def test_other_precision_drops_the_encoding(x):
    x.set_precision("int16")
    assert x.get_encodings() is None
    assert x.bitwidth == 16


def test_float16_needs_no_encoding(cnn, cnn_sim, x):
    x.set_precision(float16)
    assert x.is_initialized()
    assert x.get_encodings() is None
    assert x.data_type is QuantizationDataType.float
    value = np.array([1 / 3], np.float32)
    assert x.quantize_dequantize(value) == np.float32(np.float16(value[0]))
    cnn_sim.session.run(None, cnn.feeds[0])
    with pytest.raises(RuntimeError, match="float16"):
        x.load_encodings([EncodingInfo(-1, 1, 0.1, -1)])


def test_kind_and_width_are_set_one_after_the_other(x):
    x.data_type = QuantizationDataType.float
    assert x.precision() == float8e4m3fn
    x.set_bitwidth(16)
    assert x.precision() == float16
    x.data_type = QuantizationDataType.int
    x.set_bitwidth(4)
    assert x.precision() == int4


def test_symmetry_flags_drop_the_encoding_when_they_change(x):
    before = x.get_encodings()
    x.use_symmetric_encodings = False
    assert x.get_encodings() == before
    x.use_symmetric_encodings = True
    assert x.get_encodings() is None
    encoding = x.compute_encodings()[0]
    assert encoding.offset == -128


def test_strict_symmetry_drops_the_most_negative_code(x):
    x.use_symmetric_encodings = True
    x.use_strict_symmetric = True
    encoding = x.compute_encodings()[0]
    assert encoding.min == -encoding.max


def test_unsigned_symmetry_uses_all_codes_for_positive_data(x):
    x.use_symmetric_encodings = True
    x.use_unsigned_symmetric = True
    x.reset_encoding_stats()
    x.update_encoding_stats(np.array([0.0, 2.55], np.float32))
    encoding = x.compute_encodings()[0]
    assert (encoding.offset, encoding.delta) == (0, pytest.approx(0.01))


def test_frozen_quantizers_ignore_changes(x):
    before = x.get_encodings()
    x.freeze_encodings()
    assert x.is_encoding_frozen()
    x.set_bitwidth(4)
    x.set_precision(int16)
    x.use_symmetric_encodings = True
    x.load_encodings([EncodingInfo(-1, 1, 0.1, -1)])
    x.reset_encoding_stats()
    assert x.get_encodings() == before
    assert x.compute_encodings() is None
    assert x.clip_and_recompute_encodings(0.5) is None


def test_disabled_quantizers_compute_nothing(x):
    x.enabled = False
    assert x.compute_encodings() is None


def test_weights_have_one_encoding_per_channel(weight):
    assert weight.quant_info.usePerChannelMode
    assert weight.quant_info.channelAxis == 0
    assert len(weight.get_encodings()) == 16


def test_per_channel_can_be_switched_off(cnn, cnn_sim, weight):
    weight.enable_per_channel_quantization(False)
    cnn_sim.compute_encodings(cnn.feeds)
    assert len(weight.get_encodings()) == 1


def test_tensors_without_channels_refuse_them(x):
    with pytest.raises(RuntimeError, match='"x" has no channel axis'):
        x.enable_per_channel_quantization()


def test_loading_checks_the_number_of_encodings(weight):
    with pytest.raises(ValueError, match="needs 16 encodings, not 1"):
        weight.load_encodings([EncodingInfo(-1, 1, 0.1, -1)])
    with pytest.raises(ValueError, match="empty"):
        weight.load_encodings([])


def test_encodings_can_be_carried_over(weight):
    saved = weight.get_encodings()
    weight.set_bitwidth(4)
    weight.set_bitwidth(8)
    weight.load_encodings(saved)
    assert weight.get_encodings() == saved


class TestSpec:
    def test_blocks_divide_the_input_channels(self, cnn, cnn_sim, weight):
        weight.set_qspec(QSpec.blockwise(int4, 4, symmetric=True))
        info = weight.quant_info
        assert (info.blockSize, info.blockAxis, info.channelAxis) == (4, 1, 0)
        cnn_sim.compute_encodings(cnn.feeds)
        assert len(weight.get_encodings()) == 16 * 2

    def test_a_refused_spec_changes_nothing(self, weight):
        before = weight.get_encodings()
        with pytest.raises(ValueError, match="3"):
            weight.set_qspec(QSpec(int4, Blockwise(3), symmetric=False))
        assert weight.precision() == int8
        assert weight.use_symmetric_encodings
        assert weight.quant_info.blockSize == 0
        assert weight.get_encodings() == before

    def test_absent_parts_leave_the_setting(self, weight):
        weight.set_qspec(QSpec(int4))
        assert weight.quant_info.usePerChannelMode
        assert weight.use_symmetric_encodings
        assert weight.precision() == int4

    def test_anything_else_is_a_type_error(self, weight):
        with pytest.raises(TypeError, match="QSpec"):
            weight.set_qspec("int4")


class TestRanges:
    def test_clipping_says_whether_it_changed_something(self, x):
        assert x.clip_and_recompute_encodings(0.5) is True
        encoding = x.get_encodings()[0]
        assert encoding.min >= -0.51
        assert encoding.max <= 0.51
        assert x.clip_and_recompute_encodings(100.0) is False

    def test_fixed_range_replaces_what_was_observed(self, cnn, cnn_sim, x):
        x.set_fixed_encoding_range((-1.0, None))
        cnn_sim.compute_encodings(cnn.feeds)
        encoding = x.get_encodings()[0]
        assert encoding.min == pytest.approx(-1.0, abs=encoding.delta)
        assert encoding.max > 2
        assert x.get_fixed_encoding_range() == (-1.0, None)

    def test_percentile_is_checked_and_kept(self, x):
        x.set_percentile_value(99.0)
        x.set_precision(int16)
        assert x.get_percentile_value() == 99.0
        x.quant_info.tensorQuantizerRef.setPercentileValue(98.0)
        assert x.get_percentile_value() == 98.0
        with pytest.raises(ValueError, match="0"):
            x.set_percentile_value(0.0)


class TestQuantizeDequantize:
    def test_rounds_to_the_grid(self, x):
        x.load_encodings([EncodingInfo(-1.28, 1.27, 0.01, -128, 8)])
        got = x.quantize_dequantize(np.array([0.004, 0.006, 5.0, -5.0], np.float32))
        np.testing.assert_allclose(got, [0.0, 0.01, 1.27, -1.28], atol=1e-6)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
    def test_gives_the_type_of_the_input(self, x, dtype):
        assert x.quantize_dequantize(np.ones(3, dtype)).dtype == dtype

    def test_without_encoding_is_an_error(self, x):
        x.set_bitwidth(4)
        with pytest.raises(RuntimeError, match='"x"'):
            x.quantize_dequantize(np.ones(3, np.float32))
