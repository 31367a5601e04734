"""Encodings files: the words of the older API around the native functions."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitsweep import _core
from bitsweep.errors import InvalidArgumentError, error

__all__ = ["EncodingMismatch", "activation_sign", "load"]

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
    if isinstance(encodings, Mapping):
        with tempfile.TemporaryDirectory(prefix="bitsweep-") as folder:
            path = Path(folder, "dictionary.encodings")
            path.write_text(json.dumps(encodings), encoding="utf-8")
            return load(simulation, path, **options)
    found = _core.load_encodings(simulation, Path(encodings), **options)
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
