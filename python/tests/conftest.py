"""Fixtures that all tests share."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import onnxruntime as ort
import pytest

import models
from bitsweep.quantsim import QuantizationSimModel
from sessions import calibrated, float_session


@pytest.fixture(scope="session")
def cnn() -> models.Example:
    return models.cnn()


@pytest.fixture
def cnn_sim(cnn) -> QuantizationSimModel:
    return calibrated(cnn)


@pytest.fixture
def calibrate() -> Callable[..., QuantizationSimModel]:
    return calibrated


@pytest.fixture
def float_of() -> Callable[..., ort.InferenceSession]:
    return float_session


@pytest.fixture
def not_root() -> Callable[..., contextlib.AbstractContextManager[None]]:
    """Context in which permissions of files hold also when the tests run as root."""

    @contextlib.contextmanager
    def drop() -> Iterator[None]:
        nobody = 65534
        before = os.geteuid()
        if before == 0:
            os.seteuid(nobody)
        try:
            yield
        finally:
            os.seteuid(before)

    return drop


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """A folder that everybody may read and, with `not_root`, nobody may write; its parents can be entered."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o700)


@pytest.fixture(params=sorted(models.ALL))
def example(request) -> models.Example:
    return models.ALL[request.param]()
