"""The float model behind a simulation, as a ModelProto when asked for."""

from __future__ import annotations

import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

from bitsweep import _core

__all__ = ["ModelView"]


class ModelView:
    """Read access to the float model of a simulation.

    The ModelProto is made at the first use and belongs to the caller: changing it changes nothing else.
    """

    def __init__(self, native: _core.Model) -> None:
        self._native = native

    @property
    def native(self) -> _core.Model:
        """The object of the native part."""
        return self._native

    @cached_property
    def model(self) -> Any:
        """An ``onnx.ModelProto`` with all weights."""
        import onnx

        with tempfile.TemporaryDirectory(prefix="bitsweep-") as folder:
            path = Path(folder, "model.onnx")
            self._native.save(path)
            return onnx.load(path)

    def graph(self) -> Any:
        """The graph of :attr:`model`."""
        return self.model.graph

    def nodes(self) -> Any:
        """The nodes of :attr:`model`."""
        return self.model.graph.node

    def save_model_to_file(self, path: str | Path) -> None:
        """Writes the float model; weights beyond protobuf's limit go to a data file beside it."""
        self._native.save(Path(path))
