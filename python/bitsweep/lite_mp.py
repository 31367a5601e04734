"""Mixed precision in one step: the most sensitive layers get a higher precision."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bitsweep.common.defs import float16, int16, qtype
from bitsweep.errors import InvalidArgumentError, error
from bitsweep.quantsim import QuantizationSimModel

__all__ = ["flip_layers_to_higher_precision"]


def flip_layers_to_higher_precision(
    sim: QuantizationSimModel,
    layer_sensitivity_dict: Mapping[str, float],
    percent_to_flip: float = 10.0,
    override_precision: qtype | str | tuple[Any, ...] | list[Any] = float16,
) -> None:
    """Raises the precision of the layers with the lowest scores, in place; calibrate again afterwards.

    Operators that need it have other quantizers follow: norm weights and the operands of MatMul.

    Parameters
    ----------
    sim : QuantizationSimModel
        Simulation to change.
    layer_sensitivity_dict : mapping of str to float
        Node name to score, where a lower score means more damage (PSNR, accuracy). Use
        ``group_by_op_name`` or ``analyze_per_layer_sensitivity`` to get scores by node.
    percent_to_flip : float
        Part of the layers to raise, rounded up.
    override_precision : qtype, str or pair of them
        New type; a pair gives that of parameters and that of activations. Activations: int16 or float16.

    Raises
    ------
    ValueError
        For other precisions.
    KeyError
        For a name that is no node.

    Examples
    --------
    >>> flip_layers_to_higher_precision(sim, scores, 10, int16)  # doctest: +SKIP
    """
    param_type, activation_type = _pair(override_precision)
    ranked = sorted(layer_sensitivity_dict.items(), key=lambda item: item[1])
    count = math.ceil(len(ranked) * percent_to_flip / 100)
    chosen = [sim.get_op_quantizers(name) for name, _ in ranked[:count]]
    for inputs, outputs, parameters in chosen:
        for quantizer in (*inputs, *outputs):
            quantizer.set_precision(activation_type)
        for quantizer in parameters.values():
            quantizer.set_precision(param_type)
    sim.native.apply_exception_rules()


def _pair(override: Any) -> tuple[qtype, qtype]:
    if isinstance(override, (tuple, list)):
        if len(override) != 2:
            raise error(
                InvalidArgumentError,
                "flip_layers_to_higher_precision",
                f"override_precision has {len(override)} entries",
                "pass one type, or (parameter type, activation type)",
            )
        pair = qtype.as_qtype(override[0]), qtype.as_qtype(override[1])
    else:
        pair = (qtype.as_qtype(override),) * 2
    if pair[1] not in (int16, float16):
        raise error(
            InvalidArgumentError,
            "flip_layers_to_higher_precision",
            f"activations cannot be raised to {pair[1]}",
            "use int16 or float16",
        )
    return pair
