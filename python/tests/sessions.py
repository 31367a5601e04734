"""Sessions and simulations that tests start from."""

from __future__ import annotations

import onnxruntime as ort

import models
from accounting import unaccounted
from bitsweep.quantsim import QuantizationSimModel

ONE_THREAD = {"intra_op_num_threads": 1}


def float_session(model, portable: bool = False) -> ort.InferenceSession:
    """Plain ONNX Runtime on the float model; portable: in the order that every CPU has, as small models are simulated."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    if portable:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def calibrated(example: models.Example, **arguments) -> QuantizationSimModel:
    """Calibrated simulation of an example that lists each of its tensors."""
    arguments.setdefault("session_options_kwargs", ONE_THREAD)
    sim = QuantizationSimModel(example.model, **arguments)
    assert unaccounted(example.model, sim.describe()) == []
    sim.compute_encodings(example.feeds)
    return sim
