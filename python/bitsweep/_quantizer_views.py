"""A quantizer under the names of the older API."""

from __future__ import annotations

import enum

from bitsweep import _core
from bitsweep.errors import InvalidArgumentError, error


class OpMode(enum.IntEnum):
    """What a quantizer does with the values of its tensor, under the names of the peer."""

    updateStats = 0  # noqa: N815
    oneShotQuantizeDequantize = 1  # noqa: N815
    quantizeDequantize = 2  # noqa: N815
    passThrough = 3  # noqa: N815


def op_mode(quantizer: _core.Quantizer) -> OpMode:
    """``quantizeDequantize`` when enabled, else ``passThrough``; calibration chooses the modes that observe."""
    return OpMode.quantizeDequantize if quantizer.enabled else OpMode.passThrough


def set_op_mode(quantizer: _core.Quantizer, mode: OpMode) -> None:
    """Switches on or off.

    Raises
    ------
    ValueError
        For a mode that observes.
    """
    if mode not in (OpMode.quantizeDequantize, OpMode.passThrough):
        raise error(
            InvalidArgumentError,
            "quantizer",
            f"op_mode cannot be set to {OpMode(mode).name}",
            "calibrate with sim.compute_encodings",
        )
    quantizer.enabled = mode == OpMode.quantizeDequantize


class QuantInfo:
    """View of a quantizer under the names of the older API; reads and writes the quantizer itself."""

    __slots__ = ("_quantizer",)

    def __init__(self, quantizer: _core.Quantizer) -> None:
        self._quantizer = quantizer

    @property
    def name(self) -> str:
        """Tensor of the quantizer."""
        return self._quantizer.name

    @property
    def enabled(self) -> bool:
        """Whether the tensor is quantized."""
        return self._quantizer.enabled

    @enabled.setter
    def enabled(self, on: bool) -> None:
        self._quantizer.enabled = bool(on)

    @property
    def opMode(self) -> OpMode:  # noqa: N802
        """What a run does with the tensor."""
        return op_mode(self._quantizer)

    @opMode.setter
    def opMode(self, mode: OpMode) -> None:  # noqa: N802
        set_op_mode(self._quantizer, mode)

    @property
    def isIntDataType(self) -> bool:  # noqa: N802
        """Whether the type is an integer."""
        return self._quantizer.format.is_integer

    @property
    def useSymmetricEncoding(self) -> bool:  # noqa: N802
        """Zero point fixed in the middle of the grid."""
        return self._quantizer.symmetric

    @useSymmetricEncoding.setter
    def useSymmetricEncoding(self, on: bool) -> None:  # noqa: N802
        self._quantizer.symmetric = bool(on)

    @property
    def usePerChannelMode(self) -> bool:  # noqa: N802
        """More than one encoding per tensor."""
        return self._quantizer.granularity.channel_axis >= 0

    @property
    def channelAxis(self) -> int:  # noqa: N802
        """Axis of the channels; -1 when the operator gives none."""
        axis = self._quantizer.granularity.channel_axis
        return axis if axis >= 0 else self._quantizer.possible_channel_axis

    @property
    def blockAxis(self) -> int:  # noqa: N802
        """Axis along which blocks lie; -1 when the operator gives none."""
        axis = self._quantizer.granularity.block_axis
        return axis if axis >= 0 else self._quantizer.possible_block_axis

    @property
    def blockSize(self) -> int:  # noqa: N802
        """Elements per block; 0 without blocks."""
        return self._quantizer.granularity.block_size

    @property
    def tensorQuantizerRef(self) -> TensorQuantizerView:  # noqa: N802
        """The part of the quantizer that holds statistics and bits."""
        return TensorQuantizerView(self._quantizer)


class TensorQuantizerView:
    """Statistics settings under the names of the older API."""

    __slots__ = ("_quantizer",)

    def __init__(self, quantizer: _core.Quantizer) -> None:
        self._quantizer = quantizer

    @property
    def bitwidth(self) -> int:
        """Width in bits."""
        return self._quantizer.bitwidth

    @property
    def isEncodingValid(self) -> bool:  # noqa: N802
        """Whether there is an encoding."""
        return self._quantizer.encoding is not None

    def setPercentileValue(self, percentile: float) -> None:  # noqa: N802
        """See :meth:`QcQuantizeOp.set_percentile_value`."""
        self._quantizer.percentile = percentile

    def getPercentileValue(self) -> float:  # noqa: N802
        """See :meth:`QcQuantizeOp.get_percentile_value`."""
        return self._quantizer.percentile
