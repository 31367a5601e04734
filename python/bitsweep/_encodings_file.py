"""Encodings files: the words of the older API around the native functions."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitsweep import _core
from bitsweep.errors import InvalidArgumentError, error

__all__ = ["EncodingMismatch", "activation_sign", "as_file", "load", "load_ort", "ort_overrides"]

_SIGNS = {
    "unsigned": _core.ActivationSign.UNSIGNED,
    "signed": _core.ActivationSign.SIGNED,
    None: _core.ActivationSign.UNCHANGED,
}


def activation_sign(name: str | None) -> _core.ActivationSign:
    """Native value of ``force_activation_as``."""
    if name not in _SIGNS:
        raise error(
            InvalidArgumentError,
            "export",
            f"force_activation_as is {name!r}",
            "use 'unsigned', 'signed' or None",
        )
    return _SIGNS[name]


@dataclass(frozen=True)
class EncodingMismatch:
    """Settings of one quantizer that an encodings file has in another way.

    Each field but the name is a pair (simulation, file), or None where both agree.
    """

    quantizer_name: str
    enabled_mismatch: tuple[bool, bool] | None
    dtype_mismatch: tuple[str, str] | None
    enc_type_mismatch: tuple[str, str] | None
    is_symmetric_mismatch: tuple[bool, bool] | None
    is_strict_symmetric_mismatch: tuple[bool, bool] | None
    is_unsigned_symmetric_mismatch: tuple[bool, bool] | None


def load(
    simulation: _core.Simulation,
    encodings: str | os.PathLike[str] | Mapping[str, Any],
    **options: bool,
) -> list[EncodingMismatch]:
    """Reads a file, or the dictionary that such a file holds, into the quantizers."""
    with as_file(encodings) as path:
        return _mismatches(_core.load_encodings(simulation, path, **options))


@contextlib.contextmanager
def as_file(encodings: str | os.PathLike[str] | Mapping[str, Any]) -> Iterator[Path]:
    """Path of an encodings file; a dictionary is written to a temporary one."""
    if not isinstance(encodings, Mapping):
        yield Path(encodings)
        return
    with tempfile.TemporaryDirectory(prefix="bitsweep-") as folder:
        path = Path(folder, "dictionary.encodings")
        path.write_text(json.dumps(encodings), encoding="utf-8")
        yield path


def load_ort(
    simulation: _core.Simulation, overrides: Mapping[str, Any], **options: bool
) -> list[EncodingMismatch]:
    """Reads TensorQuantOverrides; types may be names or members of ``QuantType``."""

    def plain(value: Any) -> Any:
        if hasattr(value, "name"):  # QuantType.QUInt8
            return value.name
        if hasattr(value, "item"):  # a number of numpy
            return value.item()
        raise TypeError(f"TensorQuantOverrides hold {value!r}")

    text = json.dumps(dict(overrides), default=plain)
    return _mismatches(_core.load_ort_overrides(simulation, text, **options))


def ort_overrides(text: str) -> dict[str, list[dict[str, Any]]]:
    """TensorQuantOverrides with the types that ONNX Runtime's quantizer asks for."""
    import numpy as np
    from onnxruntime.quantization import QuantType

    result: dict[str, list[dict[str, Any]]] = json.loads(text)
    for channels in result.values():
        for item in channels:
            kind = QuantType[item["quant_type"]]
            item["quant_type"] = kind
            item["scale"] = np.array(item["scale"], np.float32)
            zero = np.int32 if kind.name in ("QInt4", "QUInt4") else kind.name[1:].lower()
            item["zero_point"] = np.array(item["zero_point"], zero)
    return result


def _mismatches(found: list[_core.EncodingMismatch]) -> list[EncodingMismatch]:
    return [
        EncodingMismatch(
            m.tensor,
            m.enabled,
            m.format,
            m.granularity,
            m.symmetric,
            m.strict_symmetric,
            m.unsigned_symmetric,
        )
        for m in found
    ]
