"""Turns what callers hold (a ModelProto, a file, bytes) into a native model, without touching it."""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from typing import Any

from bitsweep import _core
from bitsweep.errors import InvalidModelError, error

__all__ = ["to_native_model"]

# Above this many bytes of weights a ModelProto goes through a file: protobuf refuses messages of 2 GiB.
INLINE_LIMIT_BYTES = 3 << 29


def to_native_model(model: Any, folder: str | os.PathLike[str] | None = None) -> _core.Model:
    """Native model of a path, serialized bytes, a ModelProto or a wrapper with a ModelProto as ``.model``.

    Parameters
    ----------
    model : str, Path, bytes, ModelProto or wrapper
        Stays as it is.
    folder : path, optional
        Existing folder for the weights of models too large for one protobuf message, in place of the system's for
        temporary files. Their file is nameless when this returns, so that nothing can be left behind.

    Raises
    ------
    bitsweep.Error
        When it is none of these, or not a valid model.
    """
    if isinstance(model, _core.Model):
        return model
    if isinstance(model, (str, os.PathLike)):
        return _core.Model.load(Path(model))
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _core.Model.parse(bytes(model))
    model = unwrap_proto(
        model, "is no ONNX model", "pass an onnx.ModelProto, the path of a file, or its bytes"
    )
    if _weight_bytes(model) <= INLINE_LIMIT_BYTES:
        return _core.Model.parse(model.SerializeToString())
    with tempfile.TemporaryDirectory(prefix="bitsweep-", dir=folder) as place:
        # Mapped from here on: its bytes stay until the model goes.
        return _core.Model.load(_write_with_external_data(model, Path(place)))


def unwrap_proto(model: Any, otherwise: str, fix: str) -> Any:
    """The ModelProto itself, or the one that a wrapper holds as ``.model``; anything else is refused in these words."""
    if not hasattr(model, "SerializeToString") and hasattr(model, "model"):
        model = model.model
    if not hasattr(model, "SerializeToString") or not hasattr(model, "graph"):
        raise error(InvalidModelError, "model", f"a {type(model).__name__} {otherwise}", fix)
    return model


def _tensor_bytes(tensor: Any) -> int:
    from onnx import helper

    # Sizes come from the shape: reading raw_data would copy it.
    itemsize = int(helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)
    return int(math.prod(tensor.dims)) * itemsize


def _weight_bytes(model: Any) -> int:
    return sum(_tensor_bytes(t) for t in model.graph.initializer if t.data_type)


def _copy_fields(source: Any, target: Any, skip: str) -> None:
    """Copies all set fields but one, so that weights are never held twice."""
    for field, value in source.ListFields():
        if field.name == skip:
            continue
        if hasattr(value, "extend"):
            getattr(target, field.name).extend(value)
        elif hasattr(value, "CopyFrom"):
            getattr(target, field.name).CopyFrom(value)
        else:
            setattr(target, field.name, value)


def _write_with_external_data(model: Any, folder: Path) -> Path:
    """Writes weights to one data file and a small model beside it; tensor by tensor."""
    import onnx
    from onnx import TensorProto, external_data_helper, numpy_helper

    twin = onnx.ModelProto()
    _copy_fields(model, twin, skip="graph")
    _copy_fields(model.graph, twin.graph, skip="initializer")
    with (folder / "weights.data").open("wb") as data:
        for tensor in model.graph.initializer:
            small = twin.graph.initializer.add()
            if tensor.data_location == TensorProto.EXTERNAL or _tensor_bytes(tensor) < 1024:
                small.CopyFrom(tensor)
                continue
            raw = (
                tensor.raw_data
                if tensor.HasField("raw_data")
                else numpy_helper.to_array(tensor).tobytes()
            )
            # Aligned to pages, so that the file can be mapped.
            data.seek(-(-data.tell() // 4096) * 4096)
            small.name, small.data_type = tensor.name, tensor.data_type
            small.dims.extend(tensor.dims)
            small.raw_data = b""
            external_data_helper.set_external_data(
                small, "weights.data", offset=data.tell(), length=len(raw)
            )
            small.ClearField("raw_data")
            data.write(raw)
    path = folder / "model.onnx"
    path.write_bytes(twin.SerializeToString())
    return path
