"""Types, specs and PSNR."""

from __future__ import annotations

import numpy as np
import pytest

import bitsweep
from bitsweep import QSpec
from bitsweep.common import defs
from bitsweep.common.utils import compute_psnr


def test_types_of_one_meaning_are_equal_whichever_way_they_were_made():
    assert defs.qtype.int(8) == defs.int8 == defs.qtype.from_string("int8")
    assert hash(defs.qtype.int(8)) == hash(defs.int8)
    assert defs.qtype.float(5, 10) == defs.float16
    assert defs.qtype.float(4, 3, finite=True) == defs.float8e4m3fn
    assert defs.int8 != defs.int16


def test_text_of_a_type_is_its_name():
    names = ["int2", "int4", "int8", "int16", "float16", "bfloat16", "float8e4m3fn", "float8e5m2"]
    assert [str(getattr(defs, n)) for n in names] == names


def test_unknown_types_are_refused_with_the_known_ones():
    with pytest.raises(bitsweep.Error, match="int7x"):
        defs.qtype.from_string("int7x")
    with pytest.raises(ValueError, match="float8e4m3fn"):
        defs.qtype.float(3, 4)
    with pytest.raises(TypeError, match="list"):
        defs.qtype.as_qtype([8])  # type: ignore[arg-type]


def test_legacy_pair_of_kind_and_width_goes_both_ways():
    kind = defs.QuantizationDataType
    assert defs.qtype.from_legacy_repr(kind.float, 16) == defs.float16
    assert defs.int4.to_legacy_repr() == (kind.int, 4)
    with pytest.raises(ValueError, match="'float' with 16 bits; use QuantizationDataType"):
        defs.qtype.from_legacy_repr("float", 16)
    assert defs.qtype.from_legacy_repr(kind.float, 8) == defs.float8e4m3fn
    with pytest.raises(ValueError, match="float with 4 bits"):
        defs.qtype.from_legacy_repr(kind.float, 4)


def test_schemes_are_known_by_enum_and_by_all_their_names():
    scheme = defs.QuantScheme
    assert scheme.post_training_tf is scheme.min_max
    names = [scheme.post_training_tf_enhanced, "post_training_tf_enhanced", "tf_enhanced"]
    assert [defs.scheme_name(n) for n in names] == ["tf_enhanced"] * 3


def test_specs_refuse_combinations_that_mean_nothing():
    with pytest.raises(ValueError, match="int2"):
        QSpec.per_tensor("int8", symmetric=True, shift_zero_point=True)
    with pytest.raises(ValueError, match="LPBQ"):
        QSpec.lpbq("float16")
    assert QSpec.lpbq(defs.int4).symmetric is True


def test_callback_func_passes_its_argument_after_the_session():
    assert defs.CallbackFunc(lambda session, n: (session, n), 3)("s") == ("s", 3)
    with pytest.raises(ValueError, match="cannot be called"):
        defs.CallbackFunc(5)  # type: ignore[arg-type]


class TestPsnr:
    def test_is_range_over_rms_error_in_db(self):
        assert compute_psnr([1, 3], [1.5, 2.5]) == pytest.approx(20 * np.log10(3 / 0.5))

    def test_equal_arrays_reach_the_clip(self):
        assert compute_psnr([1, 2], [1, 2], 60.0) == 60.0

    @pytest.mark.parametrize(
        ("expected", "actual", "text"),
        [([1, 2], [1], "shape"), ([], [], "empty"), ([1, np.nan], [1, 2], "NaN")],
    )
    def test_refuses_what_has_no_psnr(self, expected, actual, text):
        with pytest.raises(ValueError, match=text):
            compute_psnr(expected, actual)

    def test_non_finite_actual_is_the_worst_score_with_a_warning(self):
        with pytest.warns(UserWarning, match="NaN"):
            assert compute_psnr([1, 2], [1, np.inf]) == -100.0
