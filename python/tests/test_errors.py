"""Every error is a sentence and has the class that callers catch."""

from __future__ import annotations

import numpy as np
import pytest

import bitsweep
from bitsweep import _core, errors


def test_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        _core.Model.load(tmp_path / "none.onnx")
    assert isinstance(caught.value, bitsweep.Error)
    assert "none.onnx" in str(caught.value)
    assert caught.value.fix


def test_text_reads_where_what_fix(tmp_path):
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"this is no model")
    with pytest.raises(errors.InvalidModelError) as caught:
        _core.Model.load(path)
    assert str(caught.value).startswith(caught.value.where + ": ")
    assert str(caught.value).endswith("; " + caught.value.fix)


def test_broken_models_and_failed_runs_are_runtime_errors_too():
    for kind in (errors.InvalidModelError, errors.OnnxRuntimeError, errors.NotReadyError):
        assert issubclass(kind, RuntimeError)
        assert issubclass(kind, bitsweep.Error)


def test_cancelled_work_is_no_ordinary_error():
    assert issubclass(errors.CancelledError, KeyboardInterrupt)
    assert not issubclass(errors.CancelledError, Exception)


def test_unknown_metric_names_the_known_ones():
    with pytest.raises(ValueError, match="sqnr"):
        _core.make_metric("no_such_metric")


def test_quantizer_without_encoding_is_not_ready():
    with pytest.raises(RuntimeError, match='"q"'):
        _core.Quantizer("q").fake_quant(np.zeros(3, np.float32))
