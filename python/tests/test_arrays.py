"""How arrays get in and out: without copies, without hidden conversions."""

from __future__ import annotations

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

from bitsweep import _core


def fake_quant(array):
    q = _core.Quantizer("x")
    q.observe(np.array([-1, 1], np.float32))
    q.compute_encoding()
    return q.fake_quant(array)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_floats_come_back_in_their_type_and_shape(dtype):
    result = fake_quant(np.linspace(-1, 1, 12).reshape(3, 4).astype(dtype))
    assert result.dtype == dtype
    assert result.shape == (3, 4)


def test_results_can_be_written():
    result = fake_quant(np.ones(4, np.float32))
    result += 1
    assert result[0] > 1


def test_results_outlive_what_made_them():
    result = fake_quant(np.full(1000, 0.5, np.float32))
    gc.collect()
    assert np.allclose(result, 0.5, atol=0.01)


@pytest.mark.parametrize(
    "layout",
    [
        lambda a: a.T,
        lambda a: a[:, ::2],
        lambda a: a[::-1],
        lambda a: a.astype(">f4"),
        lambda a: np.asfortranarray(a),
    ],
    ids=["transposed", "strided", "reversed", "big_endian", "fortran"],
)
def test_any_memory_layout_gives_the_values_of_a_plain_copy(layout):
    array = layout(np.random.default_rng(0).uniform(-1, 1, (6, 8)).astype(np.float32))
    plain = np.array(array, np.float32, order="C")
    np.testing.assert_array_equal(fake_quant(array), fake_quant(plain))


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,)])
def test_scalars_and_empty_arrays_keep_their_shape(shape):
    assert fake_quant(np.zeros(shape, np.float32)).shape == shape


def test_read_only_arrays_are_taken():
    array = np.ones(3, np.float32)
    array.flags.writeable = False
    assert fake_quant(array).shape == (3,)


def test_arrays_that_were_passed_are_let_go():
    class Tracked(np.ndarray):
        pass

    array = np.ones(4, np.float32).view(Tracked)
    seen = weakref.ref(array)
    fake_quant(array)
    del array
    gc.collect()
    assert seen() is None


def test_texts_are_no_tensors():
    with pytest.raises(ValueError, match="type str"):
        fake_quant(np.array(["a"]))
