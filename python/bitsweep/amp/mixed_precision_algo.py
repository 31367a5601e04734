"""Ready-made evaluation functions for mixed precision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from bitsweep.common.defs import CallbackFunc
from bitsweep.errors import InvalidArgumentError, InvalidDataError, error
from bitsweep.quantsim import QuantizationSimModel
from bitsweep.session import Session

__all__ = ["EvalCallbackFactory"]


class EvalCallbackFactory:
    """Makes evaluation functions from samples, so that no labels are needed.

    Parameters
    ----------
    data_loader : iterable
        Batches; gone through again for each evaluation.
    forward_fn : callable, optional
        ``(session, batch) -> ndarray`` to compare. Default: feeds the batch as the model's only input and returns
        output 0.

    Examples
    --------
    >>> callback = EvalCallbackFactory(batches).sqnr(sim)  # doctest: +SKIP
    """

    def __init__(
        self, data_loader: Iterable[Any], forward_fn: Callable[[Any, Any], np.ndarray] | None = None
    ) -> None:
        self._data_loader = data_loader
        self._forward_fn = _default_forward if forward_fn is None else forward_fn

    def sqnr(self, sim: QuantizationSimModel | None = None, num_samples: int = 128) -> CallbackFunc:
        """Signal-to-quantization-noise ratio of the simulation against its own float model.

        ``10 log10(sum s^2 / sum (s - q)^2)`` in dB, over all elements of the first samples.

        Parameters
        ----------
        sim : QuantizationSimModel, optional
            The simulation that will be scored; without it the one of the session that is scored.
        num_samples : int
            Samples to use; a loader with a ``batch_size`` gives that many per batch.

        Returns
        -------
        CallbackFunc
            ``session -> float``; infinite when nothing differs.
        """
        if num_samples < 1:
            raise error(
                InvalidArgumentError, "sqnr", f"num_samples is {num_samples}", "use at least one"
            )

        def evaluate(session: Any, _: Any = None) -> float:
            if sim is not None and session is not sim.session:
                raise error(
                    InvalidArgumentError,
                    "sqnr",
                    "the session is not that of the simulation the function was made for",
                    "make one function per simulation",
                )
            signal = noise = 0.0
            count = 0
            for batch in self._batches(num_samples):
                reference = self._float_output(session, batch)
                output = self._forward(session, batch).astype(np.float64)
                signal += float(np.sum(reference**2))
                noise += float(np.sum((reference - output) ** 2))
                count += 1
            if count == 0:
                raise error(
                    InvalidDataError,
                    "sqnr",
                    "the data loader gave no batch",
                    "pass one that can be gone through again",
                )
            with np.errstate(divide="ignore", invalid="ignore"):
                return float("inf") if noise == 0.0 else 10.0 * float(np.log10(signal / noise))

        return CallbackFunc(evaluate)

    def _batches(self, num_samples: int) -> Iterator[Any]:
        size = getattr(self._data_loader, "batch_size", None) or 1
        for i, batch in enumerate(self._data_loader):
            if i * size >= num_samples:
                return
            yield batch

    def _float_output(self, session: Session, batch: Any) -> np.ndarray:
        """Computed each time: a kept one would be wrong as soon as the loader shuffles."""
        return self._forward(_FloatSession(session), batch).astype(np.float64)

    def _forward(self, session: Any, batch: Any) -> np.ndarray:
        output = self._forward_fn(session, batch)
        if not isinstance(output, np.ndarray):
            raise RuntimeError(
                f"EvalCallbackFactory: forward_fn returned a {type(output).__name__}; return one ndarray"
            )
        return output


class _FloatSession:
    """The float model of a simulation under the interface of its session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def run(
        self, output_names: Any, input_feed: dict[str, Any], run_options: Any = None
    ) -> list[np.ndarray]:
        """Outputs of the float model."""
        return self._session.run_float(output_names, input_feed)


def _default_forward(session: Any, batch: Any) -> np.ndarray:
    name = session.get_inputs()[0].name
    return np.asarray(session.run(None, {name: batch})[0])
