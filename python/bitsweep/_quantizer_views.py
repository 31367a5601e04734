"""A quantizer under the names of the older API; imported by ``qc_quantize_op``."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bitsweep.qc_quantize_op import QcQuantizeOp


class OpMode(enum.IntEnum):
    """What a quantizer does with the values of its tensor, under the names of the peer."""

    updateStats = 0  # noqa: N815
    oneShotQuantizeDequantize = 1  # noqa: N815
    quantizeDequantize = 2  # noqa: N815
    passThrough = 3  # noqa: N815


class QuantInfo:
    """View of a quantizer under the names of the older API; reads and writes the quantizer itself."""

    __slots__ = ("_op",)

    def __init__(self, op: QcQuantizeOp) -> None:
        self._op = op

    @property
    def name(self) -> str:
        """Tensor of the quantizer."""
        return self._op.name

    @property
    def enabled(self) -> bool:
        """Whether the tensor is quantized."""
        return self._op.enabled

    @enabled.setter
    def enabled(self, on: bool) -> None:
        self._op.enabled = on

    @property
    def opMode(self) -> OpMode:  # noqa: N802
        """What a run does with the tensor."""
        return self._op.op_mode

    @opMode.setter
    def opMode(self, mode: OpMode) -> None:  # noqa: N802
        self._op.op_mode = mode

    @property
    def isIntDataType(self) -> bool:  # noqa: N802
        """Whether the type is an integer."""
        return self._op.precision().is_integer

    @property
    def useSymmetricEncoding(self) -> bool:  # noqa: N802
        """Zero point fixed in the middle of the grid."""
        return self._op.use_symmetric_encodings

    @useSymmetricEncoding.setter
    def useSymmetricEncoding(self, on: bool) -> None:  # noqa: N802
        self._op.use_symmetric_encodings = on

    @property
    def usePerChannelMode(self) -> bool:  # noqa: N802
        """More than one encoding per tensor."""
        return self._op.native.granularity.channel_axis >= 0

    @property
    def channelAxis(self) -> int:  # noqa: N802
        """Axis of the channels; -1 when the operator gives none."""
        axis = self._op.native.granularity.channel_axis
        return axis if axis >= 0 else self._op.native.possible_channel_axis

    @property
    def blockAxis(self) -> int:  # noqa: N802
        """Axis along which blocks lie; -1 when the operator gives none."""
        axis = self._op.native.granularity.block_axis
        return axis if axis >= 0 else self._op.native.possible_block_axis

    @property
    def blockSize(self) -> int:  # noqa: N802
        """Elements per block; 0 without blocks."""
        return self._op.native.granularity.block_size

    @property
    def tensorQuantizerRef(self) -> TensorQuantizerView:  # noqa: N802
        """The part of the quantizer that holds statistics and bits."""
        return TensorQuantizerView(self._op)


class TensorQuantizerView:
    """Statistics settings under the names of the older API."""

    __slots__ = ("_op",)

    def __init__(self, op: QcQuantizeOp) -> None:
        self._op = op

    @property
    def bitwidth(self) -> int:
        """Width in bits."""
        return self._op.bitwidth

    @property
    def isEncodingValid(self) -> bool:  # noqa: N802
        """Whether there is an encoding."""
        return self._op.native.encoding is not None

    def setPercentileValue(self, percentile: float) -> None:  # noqa: N802
        """See :meth:`QcQuantizeOp.set_percentile_value`."""
        self._op.set_percentile_value(percentile)

    def getPercentileValue(self) -> float:  # noqa: N802
        """See :meth:`QcQuantizeOp.get_percentile_value`."""
        return self._op.get_percentile_value()
