"""A quantized model in one call, and the check that it is what was simulated."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bitsweep import _core, _encodings_file, _ort
from bitsweep._export import as_file
from bitsweep.data import Feed, check_iterable
from bitsweep.errors import OnnxRuntimeError, error
from bitsweep.quantsim import QuantizationSimModel

__all__ = ["quantize", "verify"]


def verify(
    float_model: Any,
    qdq_model: Any,
    inputs: Iterable[Feed],
    *,
    config_file: str | os.PathLike[str] | None = None,
    max_steps: float = 1.0,
) -> _core.VerifyResult:
    """Runs a QDQ model in ONNX Runtime and compares it with its float model and its simulation.

    The simulation is read back from the QDQ model.

    Parameters
    ----------
    float_model, qdq_model : ModelProto, path or bytes
        Models, or files.
    inputs : iterable of dict
        Samples.
    config_file : str or path, optional
        Rules that know the quantized tensors.
    max_steps : float
        Steps by which an output may differ from the simulation, without optimizations, and still pass.

    Returns
    -------
    VerifyResult

    Examples
    --------
    >>> verify("model.onnx", "model_qdq.onnx", [{"x": x}]).passed  # doctest: +SKIP
    """
    check_iterable(inputs, "verify")
    with as_file(float_model) as float_path, as_file(qdq_model) as qdq_path:
        return _core.verify_files(
            float_path,
            qdq_path,
            inputs,
            rules="default" if config_file is None else os.fspath(config_file),
            ort_library=_ort.library_path(),
            max_steps=max_steps,
        )


def quantize(
    model: Any,
    inputs: Iterable[Feed],
    out: str | os.PathLike[str],
    *,
    calibration_inputs: Iterable[Feed] | None = None,
    verify: bool = True,
    weights: str = "integer",
    activations: str = "unsigned",
    int32_bias: bool = True,
    **sim_options: Any,
) -> _core.VerifyResult | None:
    """Calibrates a model and writes it with QuantizeLinear and DequantizeLinear.

    Parameters
    ----------
    model : ModelProto, path or bytes
        Float model. It is read, never changed.
    inputs : iterable of dict
        Samples, read more than once.
    out : path
        The file to write; it appears complete or not at all.
    calibration_inputs : iterable of dict, optional
        Samples that set the ranges; `inputs` when not given.
    verify : bool
        Run the written model and compare it with the simulation.
    weights : "integer" or "float"
        Store weights as integers, or as floats that lie on their grid.
    activations : "unsigned" or "signed"
        Sign of the codes of activations.
    int32_bias : bool
        Store biases as int32.
    **sim_options
        Arguments of :class:`QuantizationSimModel`, e.g. ``param_type="int4"``.

    Returns
    -------
    VerifyResult or None
        None without `verify`.

    Raises
    ------
    bitsweep.Error
        Also when the written model does not agree with the simulation; the file stays to be looked at.

    Examples
    --------
    >>> quantize("model.onnx", [{"x": x}], "model_qdq.onnx")  # doctest: +SKIP
    """
    check_iterable(inputs, "quantize")
    sim = QuantizationSimModel(model, **sim_options)
    sim.compute_encodings(inputs if calibration_inputs is None else calibration_inputs)
    native = _core.to_onnx_qdq(
        sim.native,
        integer_weights=weights == "integer",
        int32_bias=int32_bias,
        activation_sign=_encodings_file.activation_sign(activations),
    )
    native.save(Path(out))
    if not verify:
        return None
    result = sim.verify(out, inputs)
    if not result.passed:
        at = result.first_disagreement
        raise error(
            OnnxRuntimeError,
            "quantize",
            f'"{os.fspath(out)}" does not compute what was simulated'
            + (f', first at "{at.tensor}" by {at.max_steps:.3g} steps' if at else ""),
            "see bitsweep.verify for the table, or choose formats that the runtime knows",
        )
    return result
