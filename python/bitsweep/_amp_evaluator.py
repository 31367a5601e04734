"""What a mixed-precision search asks its caller, answered with functions of the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bitsweep import _core
from bitsweep._evaluators import Evaluator
from bitsweep._group_scores import ScoreSettings, score_groups
from bitsweep.analysis.metrics import SensitivityMetric
from bitsweep.common.defs import CallbackFunc
from bitsweep.errors import InvalidArgumentError, NotReadyError, error
from bitsweep.quantsim import QuantizationSimModel

__all__ = ["SearchEvaluator", "as_number"]


class SearchEvaluator:
    """Answers of the native search's questions; lists are kept nowhere.

    Parameters
    ----------
    sim : QuantizationSimModel
        The simulation under search.
    phase1, phase2 : callable
        ``session -> number``: scores of single groups and of the whole model, higher is better.
    forward : callable
        Runs calibration samples through the session.
    names : tuple of str
        What messages call the two scoring functions.
    """

    def __init__(
        self,
        sim: QuantizationSimModel,
        phase1: Callable[[Any], Any],
        phase2: Callable[[Any], Any],
        forward: Callable[..., Any],
        names: tuple[str, str] = ("eval_callback_for_phase1", "eval_callback_for_phase2"),
    ) -> None:
        self._sim = sim
        self._phase1 = phase1
        self._phase2 = phase2
        self._forward = forward
        self._names = names
        self._groups = _core.quantizer_groups(sim.native)
        self._reuse: Any = None

    def run_calibration_samples(self) -> None:
        self._forward(self._sim.session)

    def load_encodings(self) -> bool:
        """Encodings come from calibration."""
        return False

    def score_phase1(self) -> float:
        return as_number(self._phase1(self._sim.session), self._names[0])

    def score_phase2(self) -> float:
        return as_number(self._phase2(self._sim.session), self._names[1])

    def score_states(self, tensors: list[list[str]]) -> list[float] | None:
        """All at once, by the engine, for functions whose metric it knows."""
        function = self._phase1.func if isinstance(self._phase1, CallbackFunc) else self._phase1
        if not isinstance(function, Evaluator) or not function.runs_natively(self._sim):
            return None
        groups = {str(i): names for i, names in enumerate(tensors)}
        metric = SensitivityMetric(self._names[0], function, higher_is_worse=False)
        scores = score_groups(self._sim, groups, metric, ScoreSettings())
        return [scores[str(i)] for i in range(len(tensors))]

    def begin_states(self, tensors: list[list[str]]) -> None:
        """From now on samples that are run again share their float pass, unless the model is small."""
        self._reuse = self._sim.session.reusing(tensors)
        self._reuse.__enter__()

    def end_states(self) -> None:
        """Counterpart of begin_states."""
        if self._reuse is not None:
            self._reuse.__exit__(None, None, None)
            self._reuse = None

    def recall(self, identity: str) -> tuple[list[_core.GreedyEntry], list[_core.GreedyPoint]]:
        """Nothing is known beforehand."""
        return [], []

    def keep_entries(self, entries: list[_core.GreedyEntry]) -> None:
        """Nothing is kept."""

    def keep_points(self, points: list[_core.GreedyPoint]) -> None:
        """Nothing is kept."""


def as_number(value: Any, name: str) -> float:
    """The score that a function of the user returned."""
    try:
        return float(value)
    except (TypeError, ValueError) as e:
        # The kinds that scripts of the peer catch.
        kind = NotReadyError if isinstance(e, TypeError) else InvalidArgumentError
        raise error(
            kind, "mixed precision", f"{name} returned a {type(value).__name__}", "return a number"
        ) from None
