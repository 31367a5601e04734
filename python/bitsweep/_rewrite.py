"""Applies a native rewrite to the ModelProto that a caller holds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from bitsweep import _core
from bitsweep._model_input import to_native_model, unwrap_proto

__all__ = ["model_proto_of", "rewrite_in_place"]


class _Result(Protocol):
    @property
    def model(self) -> _core.Model: ...


ResultT = TypeVar("ResultT", bound=_Result)


def model_proto_of(model: Any) -> Any:
    """The ModelProto itself, or the one that a wrapper holds as ``.model``."""
    return unwrap_proto(model, "can't be changed in place", "pass an onnx.ModelProto")


def rewrite_in_place(proto: Any, rewrite: Callable[[_core.Model], ResultT]) -> ResultT:
    """Runs ``rewrite`` and puts the new model into ``proto``; after an error ``proto`` is as it was."""
    import onnx

    result = rewrite(to_native_model(proto))
    # Through a file, because models beyond 2 GiB fit no single message on the way.
    with tempfile.TemporaryDirectory(prefix="bitsweep-") as folder:
        path = Path(folder) / "rewritten.onnx"
        result.model.save(path)
        rewritten = onnx.load(path)
    proto.CopyFrom(rewritten)
    return result
