"""Fixtures that all tests share."""

from __future__ import annotations

from collections.abc import Callable

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


@pytest.fixture(params=sorted(models.ALL))
def example(request) -> models.Example:
    return models.ALL[request.param]()
