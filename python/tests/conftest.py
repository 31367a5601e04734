"""Fixtures that all tests share."""

from __future__ import annotations

from collections.abc import Callable

import onnxruntime as ort
import pytest

import models
from bitsweep.quantsim import QuantizationSimModel

ONE_THREAD = {"intra_op_num_threads": 1}


def float_session(model) -> ort.InferenceSession:
    """Plain ONNX Runtime on the float model."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def calibrated(example: models.Example, **arguments) -> QuantizationSimModel:
    """Calibrated simulation of an example."""
    arguments.setdefault("session_options_kwargs", ONE_THREAD)
    sim = QuantizationSimModel(example.model, **arguments)
    sim.compute_encodings(example.feeds)
    return sim


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
