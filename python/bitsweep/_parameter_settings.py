"""Functions that set the parameters of many operators at once."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping

from bitsweep import _core
from bitsweep._quantsim import QuantizationSimModel
from bitsweep.common.defs import int2, qtype
from bitsweep.defs import QSpec
from bitsweep.errors import InvalidArgumentError, NotFoundError, error
from bitsweep.qc_quantize_op import QcQuantizeOp


def set_blockwise_quantization_for_weights(
    sim: QuantizationSimModel,
    op_types: str | Collection[str],
    bitwidth: int,
    symmetric: bool,
    block_size: int,
    strict: bool = False,
    nodes_to_exclude: Collection[str] | None = None,
    *,
    excluded_nodes: Collection[str] | None = None,
) -> None:
    """Gives each block of a weight's input channels a scale of its own; calibrate again afterwards.

    Parameters
    ----------
    sim : QuantizationSimModel
        Changed in place.
    op_types : str or collection of str
        Types of the operators, e.g. ``("Conv", "Gemm", "MatMul")``.
    bitwidth : int
        Width of the weights.
    symmetric : bool
        Zero point in the middle of the grid.
    block_size : int
        Elements along the input channels that share a scale.
    strict : bool
        Refuse weights whose input channels the block size does not divide; otherwise they stay as they are.
    nodes_to_exclude : collection of str, optional
        Operators that stay as they are.
    excluded_nodes : collection of str, optional
        Older name of `nodes_to_exclude`.

    Examples
    --------
    >>> set_blockwise_quantization_for_weights(sim, "MatMul", 4, True, 64)  # doctest: +SKIP
    """
    operators = _chosen(
        sim,
        "set_blockwise_quantization_for_weights",
        op_types=op_types,
        exclude=_one_of(nodes_to_exclude, excluded_nodes),
    )
    _set_weights(
        sim,
        operators,
        QSpec.blockwise(qtype.int(bitwidth), block_size, symmetric=symmetric),
        strict,
    )


def set_grouped_blockwise_quantization_for_weights(
    sim: QuantizationSimModel,
    op_types: str | Collection[str],
    bitwidth: int,
    decompressed_bw: int,
    block_size: int,
    strict: bool = False,
    nodes_to_exclude: Collection[str] | None = None,
    *,
    excluded_nodes: Collection[str] | None = None,
) -> None:
    """Older form of :func:`set_lpbq_for_params`: the scales have ``decompressed_bw - bitwidth`` bits."""
    warnings.warn(
        "set_grouped_blockwise_quantization_for_weights is deprecated; use set_lpbq_for_params",
        DeprecationWarning,
        stacklevel=2,
    )
    operators = _chosen(
        sim,
        "set_grouped_blockwise_quantization_for_weights",
        op_types=op_types,
        exclude=_one_of(nodes_to_exclude, excluded_nodes),
    )
    spec = QSpec.lpbq(qtype.int(bitwidth), block_size, decompressed_bw - bitwidth)
    _set_weights(sim, operators, spec, strict)


def set_lpbq_for_params(
    sim: QuantizationSimModel,
    bitwidth: int,
    block_size: int,
    *,
    op_types: str | Collection[str] | None = None,
    nodes_to_exclude: Collection[str] | None = None,
    nodes_to_include: Collection[str] | None = None,
    strict: bool | None = None,
) -> None:
    """Low-power blockwise quantization of weights: block scales are multiples of one scale per channel.

    Parameters
    ----------
    sim : QuantizationSimModel
        Changed in place; calibrate again afterwards.
    bitwidth : int
        Width of the weights, and of the integer part of the scales.
    block_size : int
        Elements along the input channels that share a scale.
    op_types : str or collection of str, optional
        Types of the operators; or name them one by one with `nodes_to_include`.
    nodes_to_exclude : collection of str, optional
        Operators of these types that stay as they are.
    nodes_to_include : collection of str, optional
        Names of operators; a weight that does not fit is refused then.
    strict : bool, optional
        With `op_types`: refuse weights whose input channels the block size does not divide.

    Examples
    --------
    >>> set_lpbq_for_params(sim, 4, 64, op_types={"Gemm", "MatMul"})  # doctest: +SKIP
    """
    where = "set_lpbq_for_params"
    if op_types is None and nodes_to_include is None:
        raise error(
            InvalidArgumentError, where, "no operator is named", "pass op_types or nodes_to_include"
        )
    if nodes_to_include is not None and strict is not None:
        raise TypeError(f"{where}: strict has no meaning with nodes_to_include")
    operators = _chosen(
        sim, where, op_types=op_types, exclude=nodes_to_exclude, include=nodes_to_include
    )
    spec = QSpec.lpbq(qtype.int(bitwidth), block_size, bitwidth)
    _set_weights(sim, operators, spec, nodes_to_include is not None or bool(strict))


def set_param_type(
    sim: QuantizationSimModel,
    param_type: QSpec | qtype | str,
    *,
    op_types: str | Collection[str] | None = None,
    nodes_to_exclude: Collection[str] | None = None,
    nodes_to_include: Collection[str] | None = None,
    strict: bool = True,
    shift_zero_point: bool = False,
) -> None:
    """Type of the enabled parameters (biases apart) of all operators, or of those that are named.

    Parameters
    ----------
    sim : QuantizationSimModel
        Changed in place; calibrate again afterwards.
    param_type : QSpec, qtype or str
        Type, with a QSpec also granularity and symmetry.
    op_types : str or collection of str, optional
        Only operators of these types.
    nodes_to_exclude, nodes_to_include : collection of str, optional
        All but these, or only these.
    strict : bool
        False leaves parameters as they are that cannot have the type.
    shift_zero_point : bool
        Older form of ``QSpec(..., shift_zero_point=True)``: only for int2, which becomes symmetric.

    Examples
    --------
    >>> set_param_type(sim, "int4", op_types={"Conv", "Gemm"})  # doctest: +SKIP
    """
    if not isinstance(param_type, QSpec):
        dtype = qtype.as_qtype(param_type)
        if shift_zero_point and dtype != int2:
            raise error(
                InvalidArgumentError,
                "set_param_type",
                f"shift_zero_point with {dtype}",
                "shift the zero point only of int2",
            )
        symmetric = True if shift_zero_point else None
        param_type = QSpec(dtype, None, symmetric, shift_zero_point)
    elif shift_zero_point:
        raise error(
            InvalidArgumentError,
            "set_param_type",
            "shift_zero_point beside a QSpec",
            "say it in the QSpec",
        )
    operators = _chosen(
        sim, "set_param_type", op_types=op_types, exclude=nodes_to_exclude, include=nodes_to_include
    )
    chosen = {
        tensor: quantizer
        for op in operators
        for tensor, kind in op.parameters
        if kind != "bias"
        and (quantizer := sim.qc_quantize_op_dict.get(tensor)) is not None
        and quantizer.enabled
    }
    _apply(chosen, param_type, strict)


def clamp_activation_encodings(quant_sim: QuantizationSimModel, clamp_val: float) -> None:
    """Clips the ranges of all activations to ``[-clamp_val, clamp_val]``.

    Parameters
    ----------
    quant_sim : QuantizationSimModel
        Calibrated simulation, changed in place.
    clamp_val : float
        Positive limit in tensor units.
    """
    for name in quant_sim.activation_names:
        quant_sim.qc_quantize_op_dict[name].clip_and_recompute_encodings(clamp_val)


def _one_of(names: Collection[str] | None, older: Collection[str] | None) -> Collection[str] | None:
    if older is None:
        return names
    warnings.warn(
        "excluded_nodes is deprecated; use nodes_to_exclude", DeprecationWarning, stacklevel=3
    )
    if names is not None:
        raise error(
            InvalidArgumentError,
            "nodes_to_exclude",
            "excluded_nodes is given too",
            "use nodes_to_exclude alone",
        )
    return older


def _chosen(
    sim: QuantizationSimModel,
    where: str,
    *,
    op_types: str | Collection[str] | None,
    exclude: Collection[str] | None,
    include: Collection[str] | None = None,
) -> list[_core.OperatorInfo]:
    """The operators of some types, without some names; or those of some names."""
    if include is not None and (exclude is not None or op_types is not None):
        other = "op_types" if op_types is not None else "nodes_to_exclude"
        raise error(
            InvalidArgumentError,
            where,
            f"nodes_to_include and {other} are given together",
            "use one of them",
        )
    operators = sim.operators
    known = {op.name for op in operators}
    for name in [*(exclude or ()), *(include or ())]:
        if name not in known:
            raise error(
                NotFoundError,
                where,
                f'the model has no operator "{name}"',
                "sim.operators lists them",
            )
    if include is not None:
        return [op for op in operators if op.name in include]
    types = [op_types] if isinstance(op_types, str) else op_types
    return [
        op
        for op in operators
        if op.name not in (exclude or ()) and (types is None or op.type in types)
    ]


def _set_weights(
    sim: QuantizationSimModel, operators: list[_core.OperatorInfo], spec: QSpec, strict: bool
) -> None:
    chosen = {
        tensor: quantizer
        for op in operators
        for tensor, kind in op.parameters
        if kind == "weight" and (quantizer := sim.qc_quantize_op_dict.get(tensor)) is not None
    }
    _apply(chosen, spec, strict)


def _apply(quantizers: Mapping[str, QcQuantizeOp], spec: QSpec, strict: bool) -> None:
    left = []
    for tensor, quantizer in quantizers.items():
        try:
            quantizer.set_qspec(spec)
        except ValueError:  # the block size does not divide the dimension
            if strict:
                raise
            left.append(f'"{tensor}"')
    if left:
        warnings.warn(
            f"{len(left)} of the parameters stay as they were, since the type does not fit their shape: "
            f"{', '.join(left)}",
            stacklevel=4,
        )
