"""What of ONNX Runtime's providers and session options has a meaning for a simulation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from bitsweep.errors import InvalidArgumentError, error


def provider_names(providers: Sequence[Any] | None) -> list[str]:
    if providers is None:
        return ["CPUExecutionProvider"]
    if isinstance(providers, str):
        raise error(
            InvalidArgumentError,
            "QuantizationSimModel",
            f'providers is the text "{providers}", not a list',
            f'pass ["{providers}"]',
        )
    return [p if isinstance(p, str) else p[0] for p in providers]


def num_threads(options: Mapping[str, Any]) -> int:
    """Threads of one run, from attributes of onnxruntime.SessionOptions."""
    import onnxruntime

    known = onnxruntime.SessionOptions()
    for name in options:
        if not hasattr(known, name):
            raise AttributeError(
                f"session_options_kwargs: SessionOptions has no attribute {name!r}"
            )
        if name not in (
            "intra_op_num_threads",
            "inter_op_num_threads",
            "log_severity_level",
            "graph_optimization_level",
        ):
            warnings.warn(
                f"session_options_kwargs: {name} has no effect; the engine chooses it", stacklevel=5
            )
    return int(options.get("intra_op_num_threads", 0))


def portable_runs(options: Mapping[str, Any]) -> bool:
    import onnxruntime

    levels = onnxruntime.GraphOptimizationLevel
    level = options.get("graph_optimization_level", levels.ORT_ENABLE_EXTENDED)
    level = levels(level) if isinstance(level, int) else level
    if level not in (levels.ORT_ENABLE_EXTENDED, levels.ORT_ENABLE_ALL):
        raise error(
            InvalidArgumentError,
            "QuantizationSimModel",
            f"graph_optimization_level is {level}",
            "pass ORT_ENABLE_EXTENDED (portable above 8 bits) or ORT_ENABLE_ALL (fast)",
        )
    return bool(level == levels.ORT_ENABLE_EXTENDED)
