"""The live quantizer of a tensor: a value of ``sim.qc_quantize_op_dict``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bitsweep import _core
from bitsweep._quantizer_views import OpMode, QuantInfo, op_mode, set_op_mode
from bitsweep.common.defs import (
    EncodingInfo,
    QuantizationDataType,
    QuantScheme,
    qtype,
    scheme_name,
)
from bitsweep.defs import LPBQ, Blockwise, Granularity, PerChannel, PerTensor, QSpec
from bitsweep.errors import InvalidArgumentError, NotReadyError, error

__all__ = ["OpMode", "QcQuantizeOp", "QuantInfo"]


class QcQuantizeOp:
    """Settings and encoding of one quantizer; several tensors may share one object (ties).

    Changes act at the next run of the session, without a rebuild. What each call does to the encoding:

    ================================  ==========================================
    call                              effect
    ================================  ==========================================
    ``enabled = ...``                 switch only
    ``set_bitwidth``                  drops the encoding, keeps the statistics
    ``set_precision``                 drops encoding and statistics if different
    symmetry flags                    drop the encoding if different
    ``freeze_encodings``              keeps everything until ``unfreeze_encodings``
    ================================  ==========================================

    Parameters
    ----------
    quantizer : _core.Quantizer
        The native object; get instances from a simulation.
    """

    def __init__(self, quantizer: _core.Quantizer) -> None:
        self._quantizer = quantizer

    # -- identity ------------------------------------------------------------------------------------------------
    @property
    def native(self) -> _core.Quantizer:
        """The object of the native part."""
        return self._quantizer

    @property
    def name(self) -> str:
        """Tensor that the quantizer was made for."""
        return self._quantizer.name

    @property
    def quant_info(self) -> QuantInfo:
        """Settings under the names of the older API."""
        return QuantInfo(self._quantizer)

    def __repr__(self) -> str:
        q = self._quantizer
        state = "on" if q.enabled else "off"
        ready = "calibrated" if q.initialized() else "not calibrated"
        return f"<QcQuantizeOp {q.name!r} {q.format.name} {state}, {ready}>"

    # -- settings ------------------------------------------------------------------------------------------------
    @property
    def enabled(self) -> bool:
        """Whether the tensor is quantized; off means that it passes unchanged."""
        return self._quantizer.enabled

    @enabled.setter
    def enabled(self, on: bool) -> None:
        self._quantizer.enabled = bool(on)

    @property
    def op_mode(self) -> OpMode:
        """What a run does with the tensor: ``quantizeDequantize`` when enabled, else ``passThrough``.

        Setting one of these two is the same as setting `enabled`; the modes that observe are chosen by calibration.
        """
        return op_mode(self._quantizer)

    @op_mode.setter
    def op_mode(self, mode: OpMode) -> None:
        set_op_mode(self._quantizer, mode)

    @property
    def bitwidth(self) -> int:
        """Width of the type in bits."""
        return self._quantizer.bitwidth

    @bitwidth.setter
    def bitwidth(self, bitwidth: int) -> None:
        self.set_bitwidth(bitwidth)

    @property
    def data_type(self) -> QuantizationDataType:
        """Kind of number."""
        return self.precision().to_legacy_repr()[0]

    @data_type.setter
    def data_type(self, dtype: QuantizationDataType) -> None:
        self.set_precision(qtype.from_legacy_repr(dtype, self.bitwidth))

    @property
    def use_symmetric_encodings(self) -> bool:
        """Zero point fixed in the middle of the grid."""
        return self._quantizer.symmetric

    @use_symmetric_encodings.setter
    def use_symmetric_encodings(self, on: bool) -> None:
        self._quantizer.symmetric = bool(on)

    @property
    def use_strict_symmetric(self) -> bool:
        """Without the most negative code."""
        return self._quantizer.strict_symmetric

    @use_strict_symmetric.setter
    def use_strict_symmetric(self, on: bool) -> None:
        self._quantizer.strict_symmetric = bool(on)

    @property
    def use_unsigned_symmetric(self) -> bool:
        """All codes for the positive side when no value is negative."""
        return self._quantizer.unsigned_symmetric

    @use_unsigned_symmetric.setter
    def use_unsigned_symmetric(self, on: bool) -> None:
        self._quantizer.unsigned_symmetric = bool(on)

    def precision(self) -> qtype:
        """The numeric type."""
        return qtype._of(self._quantizer.format)

    def set_precision(self, precision: qtype | str) -> None:
        """Changes the type; drops encoding and statistics when it differs."""
        self._quantizer.format = qtype.as_qtype(precision).format

    def set_bitwidth(self, bitwidth: int) -> None:
        """Changes the width of the type; drops the encoding, keeps the statistics of an integer."""
        if self.precision().is_integer:
            self._quantizer.bitwidth = bitwidth
        elif bitwidth != self.bitwidth:
            self.set_precision(qtype.from_legacy_repr(self.data_type, bitwidth))

    def set_quant_scheme(self, quant_scheme: QuantScheme | str) -> None:
        """Changes how values become a range; drops encoding and statistics."""
        self._quantizer.scheme = scheme_name(quant_scheme)

    def set_percentile_value(self, percentile: float) -> None:
        """Percent of the values that the range covers, in (0, 100]; used by the percentile scheme."""
        self._quantizer.percentile = percentile

    def get_percentile_value(self) -> float:
        """Percent of the values that the range covers."""
        return self._quantizer.percentile

    def set_histogram_support(self, support: str) -> None:
        """Which values the histogram of tf_enhanced and percentile can hold; drops encoding and statistics.

        Parameters
        ----------
        support : "first_batch" or "growing"
            Three times the range of the first batch, as the peer has it; or all values, whatever the batches.
        """
        self._quantizer.histogram_support = support

    def get_histogram_support(self) -> str:
        """Which values the histogram can hold: "first_batch" or "growing"."""
        return self._quantizer.histogram_support

    def set_fixed_encoding_range(
        self, fixed_range: tuple[float | None, float | None] | None
    ) -> None:
        """Bounds, in tensor units, that replace what is observed; None on a side keeps the observed value."""
        self._quantizer.fixed_range = fixed_range

    def get_fixed_encoding_range(self) -> tuple[float | None, float | None] | None:
        """The fixed bounds, or None."""
        return self._quantizer.fixed_range

    def set_zero_point_shift(self, zero_point_shift: float = 0.5) -> None:
        """Moves the zero point by this part of a step: 0 or 0.5, only for symmetric int2."""
        self._quantizer.zero_point_shift = zero_point_shift

    def get_zero_point_shift(self) -> float:
        """Shift of the zero point in steps."""
        return self._quantizer.zero_point_shift

    def enable_per_channel_quantization(self, enable: bool = True) -> None:
        """One encoding per channel, or one for the tensor.

        Raises
        ------
        RuntimeError
            When the operator gives the tensor no channel axis.
        """
        self._set_granularity(PerChannel() if enable else PerTensor())

    def set_qspec(self, spec: QSpec) -> None:
        """Applies type, granularity and symmetry; nothing changes when a part of it is refused."""
        if not isinstance(spec, QSpec):
            raise TypeError(f"set_qspec: a QSpec is needed, not {type(spec).__name__}")
        before = self._quantizer.snapshot()
        try:
            self.set_precision(spec.dtype)
            if spec.symmetric is not None:
                self.use_symmetric_encodings = spec.symmetric
            self.set_zero_point_shift(0.5 if spec.shift_zero_point else 0.0)
            if spec.granularity is not None:
                self._set_granularity(spec.granularity)
        except (RuntimeError, ValueError):
            self._quantizer.restore(before)
            raise

    def _set_granularity(self, granularity: Granularity) -> None:
        q = self._quantizer
        channel, block = q.possible_channel_axis, q.possible_block_axis
        if not isinstance(granularity, PerTensor) and channel < 0:
            raise error(
                NotReadyError,
                "quantizer",
                f'"{self.name}" has no channel axis, as its operator defines none',
                "quantize it per tensor",
            )
        if isinstance(granularity, (Blockwise, LPBQ)):
            if block < 0:
                raise error(
                    NotReadyError,
                    "quantizer",
                    f'"{self.name}" has no block axis, as its operator defines none',
                    "quantize it per tensor or per channel",
                )
            native = _core.Granularity(channel, block, granularity.block_size)
        else:
            native = _core.Granularity(channel if isinstance(granularity, PerChannel) else -1)
        lpbq = granularity.scale_bits if isinstance(granularity, LPBQ) else None
        if lpbq is None:
            q.set_lpbq(None)
        q.granularity = native
        if lpbq is not None:
            q.set_lpbq(lpbq)

    # -- encoding ------------------------------------------------------------------------------------------------
    def is_initialized(self) -> bool:
        """Ready to quantize: the type needs no encoding, or there is one."""
        return self._quantizer.initialized()

    def get_encodings(self) -> list[EncodingInfo] | None:
        """Encodings, one per tensor, channel or block; None without one or for a type that needs none."""
        encoding = self._quantizer.encoding
        if encoding is None or not self._quantizer.format.needs_encoding:
            return None
        bw = encoding.format.bitwidth
        return [EncodingInfo(c.min, c.max, c.delta, c.offset, bw) for c in encoding.cells]

    @property
    def encodings(self) -> list[EncodingInfo] | None:
        """Same as :meth:`get_encodings`."""
        return self.get_encodings()

    def load_encodings(self, encoding: Sequence[Any]) -> None:
        """Takes encodings: objects with ``min``, ``max``, ``delta``, ``offset`` and ``bw``. Ignored when frozen.

        Raises
        ------
        RuntimeError
            For a type without encodings, such as float16.
        ValueError
            When the number of encodings does not fit the granularity.
        """
        q = self._quantizer
        if not q.format.needs_encoding:
            raise error(
                NotReadyError,
                "load_encodings",
                f'"{self.name}" is {q.format.name}, which has no encodings',
                "set an integer precision first",
            )
        if not encoding:
            raise error(
                InvalidArgumentError,
                "load_encodings",
                f'the list for "{self.name}" is empty',
                "pass one encoding per tensor, channel or block",
            )
        grid = self._grid()
        count = int(np.prod(grid, initial=1))
        if len(encoding) != count:
            raise error(
                InvalidArgumentError,
                "load_encodings",
                f'"{self.name}" needs {count} encodings, not {len(encoding)}',
                "pass as many as its granularity has cells, or change the granularity",
            )
        format = _core.Format.integer(encoding[0].bw) if q.format.is_integer else q.format
        cells = [_core.AffineEncoding(e.min, e.max, e.delta, e.offset) for e in encoding]
        q.load_encoding(_core.Encoding(format, q.granularity, grid, cells))

    def _grid(self) -> list[int]:
        q = self._quantizer
        g = q.granularity
        if g.channel_axis < 0:
            return []
        shape = list(q.tensor_shape)
        grid = [1] * len(shape)
        grid[g.channel_axis] = shape[g.channel_axis]
        if g.block_size > 0:
            grid[g.block_axis] = shape[g.block_axis] // g.block_size
        return grid

    def update_quantizer_and_load_encodings(
        self,
        encoding: Sequence[Any],
        is_symmetric: bool | None,
        is_strict_symmetric: bool | None,
        is_unsigned_symmetric: bool | None,
        data_type: QuantizationDataType,
    ) -> None:
        """Enables the quantizer, takes type and flags, then the encodings."""
        self.enabled = True
        self.set_precision(qtype.from_legacy_repr(data_type, encoding[0].bw))
        if is_symmetric is not None:
            self.use_symmetric_encodings = is_symmetric
        if self.use_symmetric_encodings and is_strict_symmetric is not None:
            self.use_strict_symmetric = is_strict_symmetric
        if is_unsigned_symmetric:
            self.use_unsigned_symmetric = True
        self.load_encodings(encoding)

    def compute_encodings(self) -> list[EncodingInfo] | None:
        """Encodings from the statistics; None when frozen, disabled or for a type that needs none."""
        q = self._quantizer
        if q.frozen or not q.enabled or not q.format.needs_encoding:
            return None
        q.compute_encoding()
        return self.get_encodings()

    def reset_encoding_stats(self) -> None:
        """Drops statistics and encoding. Ignored when frozen."""
        self._quantizer.reset_statistics()

    def update_encoding_stats(self, tensor: np.ndarray) -> None:
        """Adds the values of a float array to the statistics. Ignored when frozen."""
        self._quantizer.observe(tensor)

    def get_stats_histogram(self) -> list[list[tuple[float, float]]]:
        """What the ranges were derived from.

        Returns
        -------
        list of list of (float, float)
            For the tensor, each channel or each block: left edge of a bucket and its share of the values, lowest first.

        Raises
        ------
        RuntimeError
            Before calibration, and for min_max, which keeps no histogram.
        """
        if self._quantizer.encoding is None:
            raise error(
                NotReadyError,
                "get_stats_histogram",
                f'"{self.name}" has no encoding yet',
                "calibrate first (compute_encodings)",
            )
        return self._quantizer.histograms()

    def freeze_encodings(self) -> None:
        """Keeps encoding and settings, whatever is set or calibrated, until :meth:`unfreeze_encodings`."""
        self._quantizer.freeze()

    def unfreeze_encodings(self) -> None:
        """Lets calibration and setters change the quantizer again."""
        self._quantizer.unfreeze()

    def is_encoding_frozen(self) -> bool:
        """Whether the encoding is kept whatever is set or calibrated."""
        return self._quantizer.frozen

    def clip_and_recompute_encodings(self, clamp_val: float) -> bool | None:
        """Clips the range to +-`clamp_val` (tensor units).

        Returns
        -------
        bool or None
            Whether the encoding changed; None when disabled, frozen or without encoding.
        """
        return self._quantizer.clip_encoding(clamp_val)

    def quantize_dequantize(self, input_tensor: np.ndarray) -> np.ndarray:
        """Values rounded to the grid, in the shape and type of the input.

        Parameters
        ----------
        input_tensor : ndarray
            float32, float16, bfloat16 or float64 (rounded to float32 first) array of the tensor's shape.

        Raises
        ------
        RuntimeError
            Without encoding.
        """
        array = np.asarray(input_tensor)
        wide = array.dtype == np.float64
        result = np.asarray(self._quantizer.fake_quant(array.astype(np.float32) if wide else array))
        return result.astype(np.float64) if wide else result
