"""The simulated model under the interface of an ``onnxruntime.InferenceSession``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitsweep import _core
from bitsweep.errors import InvalidArgumentError, error

__all__ = ["NodeArg", "Session"]

_ORT_NAMES = {"float32": "float", "float64": "double"}


@dataclass(frozen=True)
class NodeArg:
    """A model input or output.

    Attributes
    ----------
    name : str
        Name in the model.
    shape : list of int, str or None
        Fixed sizes, names of symbolic dimensions, None for unnamed ones.
    type : str
        E.g. ``"tensor(float)"``.
    """

    name: str
    shape: list[int | str | None]
    type: str

    @classmethod
    def of(cls, info: _core.ValueInfo) -> NodeArg:
        """From the native description."""
        shape: list[int | str | None] = [
            d.size if d.size >= 0 else (d.name or None) for d in info.shape
        ]
        return cls(info.name, shape, f"tensor({_ORT_NAMES.get(info.type, info.type)})")


class Session:
    """Runs the model with the quantizers as they are set at the moment of the call.

    Offers the calls of ``onnxruntime.InferenceSession`` that evaluation functions use. Outputs keep the names of the
    model; the names ``<output>_updated`` that the peer gives them are understood too.

    Examples
    --------
    >>> outputs = sim.session.run(None, {"x": x})  # doctest: +SKIP
    """

    def __init__(self, simulation: _core.Simulation) -> None:
        self._simulation = simulation
        self._reuses = False
        model = simulation.model
        self._inputs = [NodeArg.of(v) for v in model.inputs()]
        self._outputs = [NodeArg.of(v) for v in model.outputs()]
        self._positions = {arg.name: i for i, arg in enumerate(self._outputs)}

    @property
    def native(self) -> _core.Simulation:
        """The simulation that is run."""
        return self._simulation

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[np.ndarray]:
        """Outputs of one sample.

        Parameters
        ----------
        output_names : sequence of str or None
            None or an empty sequence: all outputs, in the order of the model.
        input_feed : mapping of str to array
            Arrays by input name. C-contiguous arrays are not copied; types are never converted.
        run_options : None
            Run options of ONNX Runtime have no meaning here and are refused.

        Returns
        -------
        list of ndarray

        Raises
        ------
        ValueError
            When names, types or shapes do not fit the model.
        RuntimeError
            When an enabled quantizer is not calibrated.
        """
        if run_options is not None:
            raise error(
                InvalidArgumentError,
                "session",
                "run_options are not supported",
                "leave them out, or set session_options_kwargs of the simulation",
            )
        feed = input_feed if isinstance(input_feed, dict) else dict(input_feed)
        return self._pick(output_names, lambda: self._simulation.run(feed, copy=self._reuses))

    def run_float(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]
    ) -> list[np.ndarray]:
        """Outputs of one sample from the float model, whatever is enabled."""
        return self._pick(output_names, lambda: self._simulation.run_float(dict(input_feed)))

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that must be fed."""
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        """The outputs, in the order of the model."""
        return list(self._outputs)

    def get_providers(self) -> list[str]:
        """Execution providers that run the model."""
        return list(self._simulation.providers)

    @contextlib.contextmanager
    def reusing(self, states: Sequence[Sequence[str]], max_memory_bytes: int = 0) -> Iterator[None]:
        """Context in which samples that are run again and again share their float pass.

        For loops that enable a few quantizers at a time and evaluate the same samples: a run then costs little more
        than what lies behind the first enabled quantizer. Samples are recognised by content.

        Parameters
        ----------
        states : sequence of sequences of str
            Tensors that will be enabled together.
        max_memory_bytes : int
            For what is kept; 0: half of the machine's memory.
        """
        self._simulation.begin_reuse([list(s) for s in states], max_memory_bytes)
        self._reuses = True
        try:
            yield
        finally:
            self._reuses = False
            self._simulation.end_reuse()

    def _pick(
        self, output_names: Sequence[str] | None, run: Callable[[], list[np.ndarray]]
    ) -> list[np.ndarray]:
        if output_names is None or len(output_names) == 0:
            return run()
        positions = [self._position(name) for name in output_names]
        outputs = run()
        return [outputs[i] for i in positions]

    def _position(self, name: str) -> int:
        found = self._positions.get(name)
        if found is None:
            found = self._positions.get(name.removesuffix("_updated"))
        if found is None:
            raise error(
                InvalidArgumentError,
                "session",
                f'the model has no output "{name}"',
                f"use one of: {', '.join(self._positions)}",
            )
        return found
