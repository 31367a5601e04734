"""How a tensor is quantized: type, granularity and symmetry in one object."""

from __future__ import annotations

from dataclasses import dataclass

from bitsweep.common.defs import int2, qtype
from bitsweep.errors import InvalidArgumentError, error

__all__ = ["LPBQ", "Blockwise", "Granularity", "PerChannel", "PerTensor", "QSpec"]


class Granularity:
    """How many encodings a tensor has."""


@dataclass(frozen=True)
class PerTensor(Granularity):
    """One encoding."""


@dataclass(frozen=True)
class PerChannel(Granularity):
    """One encoding per channel, along the axis that the operator gives."""


@dataclass(frozen=True)
class Blockwise(Granularity):
    """One encoding per block of `block_size` elements along the operator's block axis."""

    block_size: int


@dataclass(frozen=True)
class LPBQ(Granularity):
    """Blocks whose scales are integer multiples, 1 to ``2**scale_bits``, of a scale per channel."""

    block_size: int = 64
    scale_bits: int = 4


@dataclass(frozen=True)
class QSpec:
    """Type, granularity and symmetry of a quantizer; apply it with ``quantizer.set_qspec(spec)``.

    Parameters
    ----------
    dtype : qtype
        Numeric type.
    granularity : Granularity, optional
        None leaves the quantizer's granularity as it is.
    symmetric : bool, optional
        None leaves the flag as it is.
    shift_zero_point : bool
        Moves the zero point by half a step; only for symmetric int2.

    Examples
    --------
    >>> from bitsweep import QSpec, int4
    >>> QSpec.blockwise(int4, 32, symmetric=True).granularity
    Blockwise(block_size=32)
    """

    dtype: qtype
    granularity: Granularity | None = None
    symmetric: bool | None = None
    shift_zero_point: bool = False

    def __post_init__(self) -> None:
        if self.shift_zero_point and not (self.symmetric and self.dtype == int2):
            raise error(
                InvalidArgumentError,
                "QSpec",
                f"shift_zero_point with {self.dtype} and symmetric={self.symmetric}",
                "shift the zero point only of symmetric int2",
            )
        if isinstance(self.granularity, LPBQ) and not (self.symmetric and self.dtype.is_integer):
            raise error(
                InvalidArgumentError,
                "QSpec",
                f"LPBQ with {self.dtype} and symmetric={self.symmetric}",
                "use LPBQ only with a symmetric integer type",
            )

    @classmethod
    def per_tensor(
        cls, dtype: qtype | str, *, symmetric: bool | None = None, shift_zero_point: bool = False
    ) -> QSpec:
        """One encoding for the tensor."""
        return cls(qtype.as_qtype(dtype), PerTensor(), symmetric, shift_zero_point)

    @classmethod
    def per_channel(
        cls, dtype: qtype | str, *, symmetric: bool | None = None, shift_zero_point: bool = False
    ) -> QSpec:
        """One encoding per channel."""
        return cls(qtype.as_qtype(dtype), PerChannel(), symmetric, shift_zero_point)

    @classmethod
    def blockwise(
        cls,
        dtype: qtype | str,
        block_size: int,
        *,
        symmetric: bool | None = None,
        shift_zero_point: bool = False,
    ) -> QSpec:
        """One encoding per block of `block_size` elements."""
        return cls(qtype.as_qtype(dtype), Blockwise(block_size), symmetric, shift_zero_point)

    @classmethod
    def lpbq(cls, dtype: qtype | str, block_size: int = 64, scale_bits: int = 4) -> QSpec:
        """Low-power blockwise quantization: integer multiples of a per-channel scale."""
        return cls(qtype.as_qtype(dtype), LPBQ(block_size, scale_bits), True)
