"""The older constructor of QuantizationSimModel: positional arguments and widths instead of types."""

from __future__ import annotations

import warnings
from typing import Any

from bitsweep.common.defs import QuantizationDataType, qtype
from bitsweep.errors import Error, NotReadyError

__all__ = ["translate"]

_POSITIONS = (
    "dummy_input",
    "quant_scheme",
    "rounding_mode",
    "default_param_bw",
    "default_activation_bw",
    "use_symmetric_encodings",
    "use_cuda",
    "device",
    "config_file",
    "default_data_type",
    "user_onnx_libs",
    "providers",
    "path",
)
_OLD = {
    "rounding_mode",
    "default_param_bw",
    "default_activation_bw",
    "use_symmetric_encodings",
    "use_cuda",
    "device",
    "default_data_type",
}


def _conflict(text: str, fix: str) -> Error:
    return NotReadyError(f"QuantizationSimModel: {text}; {fix}")


def translate(args: tuple[Any, ...], named: dict[str, Any], given: set[str]) -> dict[str, Any]:
    """New keyword arguments for those of an old call.

    Parameters
    ----------
    args : tuple
        Positional arguments after the model.
    named : dict
        Keyword arguments that the new signature does not have.
    given : set of str
        Names of the new keyword arguments that the caller passed.

    Returns
    -------
    dict
        Values for the new signature; empty for a call of the new kind.

    Raises
    ------
    TypeError
        For unknown names, too many positions, or a rounding mode other than nearest.
    RuntimeError
        When old and new arguments say different things.
    """
    unknown = sorted(set(named) - _OLD)
    if unknown:
        raise TypeError(f"QuantizationSimModel: unknown argument {unknown[0]!r}")
    if len(args) > len(_POSITIONS):
        raise TypeError(
            f"QuantizationSimModel: at most {len(_POSITIONS)} positional arguments follow the model"
        )
    if not args and not named:
        return {}
    warnings.warn(
        "QuantizationSimModel: positional arguments, widths and use_cuda belong to the older signature; "
        "use param_type, activation_type and providers",
        DeprecationWarning,
        stacklevel=3,
    )
    values = dict(zip(_POSITIONS, args, strict=False))
    twice = sorted(set(values) & (set(named) | given))
    if twice:
        raise TypeError(f"QuantizationSimModel: {twice[0]!r} is given twice")
    values.update(named)
    return _new_arguments(values, given)


def _new_arguments(values: dict[str, Any], given: set[str]) -> dict[str, Any]:
    widths = {"default_param_bw", "default_activation_bw", "default_data_type"} & set(values)
    types = {"param_type", "activation_type"} & given
    if widths and types:
        raise _conflict(
            f"{sorted(types)[0]} and {sorted(widths)[0]} are both given", "keep the type only"
        )
    if values.get("rounding_mode") not in (None, "nearest"):
        raise TypeError(
            f"QuantizationSimModel: rounding_mode {values['rounding_mode']!r} is not known; leave it out (nearest)"
        )
    result = {k: v for k, v in values.items() if k not in _OLD}
    if result.get("quant_scheme", 0) is None:
        del result["quant_scheme"]
    if widths:
        kind = values.get("default_data_type", QuantizationDataType.int)
        result["param_type"] = qtype.from_legacy_repr(kind, values.get("default_param_bw", 8))
        result["activation_type"] = qtype.from_legacy_repr(
            kind, values.get("default_activation_bw", 8)
        )
    if values.get("use_cuda") or "device" in values:
        if (given | set(values)) & {"providers"}:
            raise _conflict(
                "providers and use_cuda or device are both given", "keep providers only"
            )
        if values.get("use_cuda"):
            result["providers"] = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    return result
