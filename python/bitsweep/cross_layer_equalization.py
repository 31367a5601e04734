"""Cross-layer equalization: neighbouring convolutions share their ranges channel by channel."""

from __future__ import annotations

from typing import Any

from bitsweep import _core
from bitsweep._core import EqualizedPair
from bitsweep._rewrite import model_proto_of, rewrite_in_place

__all__ = ["EqualizedPair", "equalize_model"]


def equalize_model(
    model: Any,
    *,
    implied_group: bool = False,
    replace_relu6: bool = False,
    absorb_high_biases: bool = True,
) -> list[list[EqualizedPair]]:
    """Folds batch norms and equalizes the channels of neighbouring convolutions, in place.

    Parameters
    ----------
    model : ModelProto
        Changed in place; or a wrapper that holds one as ``.model``.
    implied_group : bool
        Also scale layers that leave the attribute ``group`` out.
    replace_relu6 : bool
        Replace Clip(0, x) between two convolutions by Relu. This changes what the model computes.
    absorb_high_biases : bool
        Move biases that batch norms keep far above zero into the next layer, where it has no padding.

    Returns
    -------
    list of sets
        Each set holds one pair, or two that share a depthwise convolution, with names and scales.

    Examples
    --------
    >>> for pairs in equalize_model(model):  # doctest: +SKIP
    ...     print([(p.first, p.second, max(p.scale)) for p in pairs])
    """
    proto = model_proto_of(model)

    def equalize(native: _core.Model) -> _core.EqualizeResult:
        return _core.equalize_cross_layers(
            native,
            implied_group=implied_group,
            replace_relu6=replace_relu6,
            absorb_high_biases=absorb_high_biases,
        )

    return rewrite_in_place(proto, equalize).sets
