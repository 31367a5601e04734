"""Numeric types, schemes and small containers of the API."""

from __future__ import annotations

import builtins
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from bitsweep import _core
from bitsweep.errors import InvalidArgumentError, error

__all__ = [
    "CallbackFunc",
    "EncodingInfo",
    "QuantScheme",
    "QuantizationDataType",
    "bfloat16",
    "float8e4m3fn",
    "float8e5m2",
    "float16",
    "float32",
    "int2",
    "int4",
    "int8",
    "int16",
    "int32",
    "qtype",
    "scheme_name",
]


class QuantizationDataType(enum.Enum):
    """Kind of number that a quantizer rounds to."""

    undefined = 0
    int = 1
    float = 2


class QuantScheme(enum.Enum):
    """How observed values become a range."""

    min_max = 1
    post_training_tf = 1
    post_training_tf_enhanced = 2
    post_training_percentile = 6


_SCHEMES = {
    QuantScheme.min_max: "min_max",
    QuantScheme.post_training_tf_enhanced: "tf_enhanced",
    QuantScheme.post_training_percentile: "percentile",
}


def scheme_name(scheme: QuantScheme | str) -> str:
    """Name that the native part knows, of an enum value, its name or a plain name such as ``"tf_enhanced"``."""
    if isinstance(scheme, QuantScheme):
        return _SCHEMES[scheme]
    if scheme in QuantScheme.__members__:
        return _SCHEMES[QuantScheme[scheme]]
    return scheme


class qtype:  # noqa: N801 - the name is part of the API
    """A numeric type: ``int8``, ``int4``, ``float16``, ``bfloat16``, ``float8e4m3fn`` ...

    Types of equal meaning are equal, whichever way they were made. ``str`` gives the name.

    Examples
    --------
    >>> from bitsweep.common.defs import int8, qtype
    >>> qtype.int(8) == int8, str(qtype.from_string("float16"))
    (True, 'float16')
    """

    __slots__ = ("_format",)
    _FLOATS: ClassVar[dict[tuple[builtins.int, builtins.int, bool, bool], str]] = {
        (5, 10, False, False): "float16",
        (8, 7, False, False): "bfloat16",
        (8, 23, False, False): "float32",
        (4, 3, True, False): "float8e4m3fn",
        (5, 2, False, False): "float8e5m2",
    }

    def __init__(self, name: str) -> None:
        self._format = _core.Format.parse(name)

    @staticmethod
    def int(bits: builtins.int) -> qtype:
        """Integer type of `bits` bits, 2 to 32."""
        return qtype._of(_core.Format.integer(bits))

    @staticmethod
    def float(
        exponent_bits: builtins.int,
        mantissa_bits: builtins.int,
        finite: bool = False,
        unsigned_zero: bool = False,
    ) -> qtype:
        """Float type with this layout. Only the layouts that have a name are known."""
        layout = (exponent_bits, mantissa_bits, finite, unsigned_zero)
        name = qtype._FLOATS.get(layout)
        if name is None:
            raise error(
                InvalidArgumentError,
                "qtype",
                f"no float type has {exponent_bits} exponent and {mantissa_bits} mantissa bits"
                f" (finite={finite}, unsigned_zero={unsigned_zero})",
                f"use one of {', '.join(qtype._FLOATS.values())}",
            )
        return qtype(name)

    @staticmethod
    def from_string(name: str) -> qtype:
        """Type of this name, e.g. ``"int8"``."""
        return qtype(name)

    @staticmethod
    def as_qtype(value: qtype | str) -> qtype:
        """The type itself, or the type of this name."""
        if isinstance(value, qtype):
            return value
        if isinstance(value, str):
            return qtype(value)
        raise TypeError(
            f"qtype: a type or its name is needed, not {type(value).__name__}; pass e.g. int8 or 'int8'"
        )

    @staticmethod
    def from_legacy_repr(dtype: QuantizationDataType, bitwidth: builtins.int) -> qtype:
        """Type of the older pair of kind and width; a float of 8 bits is the one without infinities."""
        if dtype is QuantizationDataType.int:
            return qtype.int(bitwidth)
        if dtype is QuantizationDataType.float and bitwidth in (8, 16, 32):
            return qtype("float8e4m3fn" if bitwidth == 8 else f"float{bitwidth}")
        raise error(
            InvalidArgumentError,
            "qtype",
            f"no type is {getattr(dtype, 'name', repr(dtype))} with {bitwidth} bits",
            "use QuantizationDataType.int with 2 to 32 bits, or .float with 8, 16 or 32 bits",
        )

    def to_legacy_repr(self) -> tuple[QuantizationDataType, builtins.int]:
        """The older pair of kind and width."""
        kind = QuantizationDataType.int if self._format.is_integer else QuantizationDataType.float
        return kind, self._format.bitwidth

    @staticmethod
    def _of(format: _core.Format) -> qtype:
        made = object.__new__(qtype)
        made._format = format
        return made

    @property
    def format(self) -> _core.Format:
        """The native form of the type."""
        return self._format

    @property
    def bits(self) -> builtins.int:
        """Width in bits."""
        return self._format.bitwidth

    @property
    def is_integer(self) -> bool:
        """Whether values are rounded to an affine integer grid."""
        return self._format.is_integer

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self._format.name == other
        return isinstance(other, qtype) and self._format == other._format

    def __hash__(self) -> builtins.int:
        return hash(self._format.name)

    def __repr__(self) -> str:
        return self._format.name


int2: qtype = qtype.int(2)
int4: qtype = qtype.int(4)
int8: qtype = qtype.int(8)
int16: qtype = qtype.int(16)
int32: qtype = qtype.int(32)
float16: qtype = qtype("float16")
float32: qtype = qtype("float32")
bfloat16: qtype = qtype("bfloat16")
float8e4m3fn: qtype = qtype("float8e4m3fn")
float8e5m2: qtype = qtype("float8e5m2")


@dataclass
class CallbackFunc:
    """A function and the argument that it gets after the session.

    Parameters
    ----------
    func : callable
        Called as ``func(session, func_callback_args)``.
    func_callback_args : object
        Second argument.

    Examples
    --------
    >>> from bitsweep.common.defs import CallbackFunc
    >>> CallbackFunc(lambda session, n: n, 3)("session")
    3
    """

    func: Callable[..., Any]
    func_callback_args: Any = None

    def __post_init__(self) -> None:
        if not callable(self.func):
            raise error(
                InvalidArgumentError,
                "CallbackFunc",
                f"a {type(self.func).__name__} cannot be called",
                "pass a function that takes a session and one argument",
            )

    @property
    def args(self) -> Any:
        """The argument, under its shorter name."""
        return self.func_callback_args

    def __call__(self, session: Any) -> Any:
        return self.func(session, self.func_callback_args)


@dataclass
class EncodingInfo:
    """Affine grid of one tensor, channel or block: ``real = delta * (q + offset)``.

    Attributes
    ----------
    min, max : float
        Ends of the grid, in tensor units.
    delta : float
        One integer step in tensor units, > 0.
    offset : float
        Integer <= 0: minus the zero point on the unsigned grid.
    bw : int
        Bits of the integers.
    """

    min: float
    max: float
    delta: float
    offset: float
    bw: int = 8
