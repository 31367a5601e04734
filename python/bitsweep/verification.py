"""A quantized model in one call, and the check that it is what was simulated."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bitsweep import _core, _encodings_file, _ort
from bitsweep._export import as_file
from bitsweep.data import Feed, check_iterable
from bitsweep.errors import InvalidArgumentError, OnnxRuntimeError, error
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
    two_bit_types: bool = False,
    target: str = "onnx",
    external_data: str = "auto",
    inline_limit_bytes: int = 1 << 30,
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
    two_bit_types : bool
        Store codes of 2 bits as int2 and uint2 of opset 25, which ONNX Runtime 1.32 opens without optimizations only,
        so that the check fails; otherwise they lie in 4 bits, which is a warning.
    target : str
        What the model is for: ``"onnx"``, ``"ort_cpu"``, ``"tensorrt"`` or ``"qnn_htp"``. What it changes is a warning
        with the tensor's name; what it can't take is an error.
    external_data : "auto", "always" or "never"
        Write weights into a file beside the model; auto: above `inline_limit_bytes`.
    inline_limit_bytes : int
        Up to where "auto" keeps the weights in the model.
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
    if external_data.upper() not in _core.ExternalData.__members__:
        raise error(
            InvalidArgumentError,
            "quantize",
            f'external_data is "{external_data}"',
            "use auto, always or never",
        )
    sim = QuantizationSimModel(model, **sim_options)
    sim.compute_encodings(inputs if calibration_inputs is None else calibration_inputs)
    sign = _encodings_file.activation_sign(activations)
    notes = _core.profile_notes(
        sim.native,
        target,
        int32_bias=int32_bias,
        two_bit_types=two_bit_types,
        activation_sign=sign,
    )
    native = _core.to_onnx_qdq(
        sim.native,
        integer_weights=weights == "integer",
        int32_bias=int32_bias,
        two_bit_types=two_bit_types,
        activation_sign=sign,
        profile=target,
    )
    _warn_of_target(target, notes)
    native.save(Path(out), _core.ExternalData[external_data.upper()], inline_limit_bytes)
    if not verify:
        return None
    repaired = any(note.repaired for note in notes)
    result = _compare(sim, model, Path(out), inputs, repaired, sim_options.get("config_file"))
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


def _compare(
    sim: QuantizationSimModel,
    model: Any,
    out: Path,
    inputs: Iterable[Feed],
    repaired: bool,
    config_file: str | os.PathLike[str] | None,
) -> _core.VerifyResult:
    # Where the target asked for other grids, the file is no more what was simulated: then it has to agree with the
    # simulation that is read back from it.
    if repaired:
        return verify(model, out, inputs, config_file=config_file)
    return sim.verify(out, inputs)


def _warn_of_target(target: str, notes: Sequence[_core.ProfileNote]) -> None:
    if notes:
        more = f" and {len(notes) - 1} more: see sim.target_notes()" if len(notes) > 1 else ""
        warnings.warn(
            f'quantize: for {target}, "{notes[0].tensor}" {notes[0].what}{more}', stacklevel=3
        )
