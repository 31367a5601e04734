"""Fixtures that all tests share."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

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


@pytest.fixture(params=sorted(models.ALL))
def example(request) -> models.Example:
    return models.ALL[request.param]()
