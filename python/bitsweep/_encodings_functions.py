"""Encodings files and simulations: read a file into a simulation, or write a model after it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bitsweep import _core, _encodings_file, _ort
from bitsweep._encodings_file import EncodingMismatch
from bitsweep._model_input import to_native_model
from bitsweep._model_view import ModelView
from bitsweep._quantsim import QuantizationSimModel


def load_encodings_to_sim(
    quant_sim_model: QuantizationSimModel,
    onnx_encoding_path: str | os.PathLike[str] | Mapping[str, Any],
    strict: bool = True,
    *,
    allow_overwrite: bool = True,
    disable_missing_quantizers: bool = True,
) -> list[EncodingMismatch]:
    """Reads an encodings file (0.6.1, 1.0.0, 2.0.0 or 2.1.0) into the quantizers of a simulation.

    Every quantizer takes format, granularity, symmetry and encoding of its entry and becomes enabled. int32 entries of
    biases are kept for export while their quantizers stay off.

    Parameters
    ----------
    quant_sim_model : QuantizationSimModel
        Changed in place; as before when an exception is raised.
    onnx_encoding_path : path or dict
        The file, or what it holds.
    strict : bool
        Refuse the file when it differs from the settings of the quantizers.
    allow_overwrite : bool
        False freezes the quantizers of the file: a later calibration leaves their encodings as they are.
    disable_missing_quantizers : bool
        Switch off the quantizers that the file does not name.

    Returns
    -------
    list of EncodingMismatch
        What the quantizers had in another way than the file.

    Raises
    ------
    bitsweep.Error
        Naming the file and the entry: broken file, unknown tensor, wrong length, mismatches with `strict`.

    Examples
    --------
    >>> load_encodings_to_sim(sim, "out/model.encodings", strict=False)  # doctest: +SKIP
    """
    return _encodings_file.load(
        quant_sim_model.native,
        onnx_encoding_path,
        strict=strict,
        disable_missing=disable_missing_quantizers,
        freeze=not allow_overwrite,
    )


def encodings_to_onnx_qdq(
    model: Any,
    encodings: str | os.PathLike[str] | Mapping[str, Any],
    *,
    prequantize_constants: bool = False,
    force_activation_as: str | None = "unsigned",
) -> Any:
    """A float model with QuantizeLinear and DequantizeLinear after an encodings file.

    Parameters
    ----------
    model : ModelProto, path or bytes
        Float model. It is read, never changed.
    encodings : path or dict
        Encodings file of any version, or what it holds. Tensors that it does not name stay in float; biases become
        int32 where it says so.
    prequantize_constants : bool
        Store weights as integers; otherwise as floats that lie on their grid.
    force_activation_as : "unsigned", "signed" or None
        Sign of the codes of activations; None keeps signed codes for symmetric ones.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    bitsweep.Error
        For a broken file, one that names tensors the model does not have, and as :meth:`to_onnx_qdq` does.

    Examples
    --------
    >>> qdq = encodings_to_onnx_qdq("model.onnx", "model.encodings")  # doctest: +SKIP
    """
    with _encodings_file.as_file(encodings) as file:
        native = _core.encodings_to_onnx_qdq(
            to_native_model(model),
            file,
            integer_weights=prequantize_constants,
            activation_sign=_encodings_file.activation_sign(force_activation_as),
            ort_library=_ort.library_path(),
        )
    return ModelView(native).model
