"""Candidates of mixed precision as scripts write them: ((activation bits, kind), (parameter bits, kind))."""

from __future__ import annotations

from typing import Any

from bitsweep import _core
from bitsweep.common.defs import QuantizationDataType, qtype
from bitsweep.errors import InvalidArgumentError, error

__all__ = ["Candidate", "from_native", "to_native"]

#: ``((activation bits, activation kind), (parameter bits, parameter kind))``
Candidate = tuple[tuple[int, QuantizationDataType], tuple[int, QuantizationDataType]]


def to_native(candidate: Any) -> _core.Candidate:
    """Refuses anything that is not written like this."""
    try:
        (activation_bits, activation_kind), (parameter_bits, parameter_kind) = candidate
    except (TypeError, ValueError):
        activation_kind = parameter_kind = None
    kinds = (activation_kind, parameter_kind)
    if not all(isinstance(k, QuantizationDataType) for k in kinds):
        raise error(
            InvalidArgumentError,
            "choose_mixed_precision",
            f"{candidate!r} is no candidate",
            "write ((activation bits, QuantizationDataType.int), (parameter bits, QuantizationDataType.int))",
        )
    return _core.Candidate(
        qtype.from_legacy_repr(activation_kind, activation_bits).format,
        qtype.from_legacy_repr(parameter_kind, parameter_bits).format,
    )


def from_native(native: _core.Candidate) -> tuple[tuple[int, QuantizationDataType], ...]:
    """Without the second part for kernels that have no parameters."""
    formats = [native.activation, native.parameter]
    legacy = [qtype._of(f).to_legacy_repr() for f in formats if f is not None]
    return tuple((bits, kind) for kind, bits in legacy)
