"""Folds batch norms into the weights of the layers beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bitsweep import _core
from bitsweep._rewrite import model_proto_of, rewrite_in_place

__all__ = ["BatchNormRecord", "fold_all_batch_norms_to_weight"]


@dataclass(frozen=True)
class BatchNormRecord:
    """A batch norm that is not in the graph any more.

    Attributes
    ----------
    name : str
        Name of the node that is gone.
    gamma, beta : ndarray of float32, shape (channels,)
        Standard deviation and mean of the values behind it.
    """

    name: str
    gamma: np.ndarray
    beta: np.ndarray


def to_pairs(
    proto: Any, folded: list[_core.FoldedBatchNorm], forward: bool
) -> list[tuple[Any, BatchNormRecord]]:
    """(NodeProto of the layer, record) of the batch norms behind, or in front of, a layer."""
    producers = {output: node for node in proto.graph.node for output in node.output}
    return [
        (
            producers[f.layer_output],
            BatchNormRecord(
                f.batch_norm, np.array(f.gamma, np.float32), np.array(f.beta, np.float32)
            ),
        )
        for f in folded
        if f.forward == forward
    ]


def fold_all_batch_norms_to_weight(
    model: Any,
) -> tuple[list[tuple[Any, BatchNormRecord]], list[tuple[Any, BatchNormRecord]]]:
    """Folds every batch norm that can be folded, in place.

    Batch norms behind Conv, ConvTranspose, Gemm and MatMul come first, then those in front of one. What stays (the
    weight is shared, the input is padded, other readers see the value between) keeps its node, with mean 0 and
    variance 1.

    Parameters
    ----------
    model : ModelProto
        Changed in place; or a wrapper that holds one as ``.model``.

    Returns
    -------
    conv_bn_pairs, bn_conv_pairs : lists of (NodeProto, BatchNormRecord)
        Layers that took in the batch norm behind them, and in front of them.

    Examples
    --------
    >>> behind, in_front = fold_all_batch_norms_to_weight(model)  # doctest: +SKIP
    >>> [node.name for node, _ in behind]  # doctest: +SKIP
    ['conv_0', 'conv_1']
    """
    proto = model_proto_of(model)
    result = rewrite_in_place(proto, _core.fold_batch_norms)
    return to_pairs(proto, result.folded, False), to_pairs(proto, result.folded, True)
