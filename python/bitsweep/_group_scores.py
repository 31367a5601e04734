"""Scores of states, one per quantizer group: natively where the metric allows it, else through the session."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bitsweep import _core
from bitsweep._evaluators import Evaluator
from bitsweep._fingerprint import fingerprint
from bitsweep.analysis.metrics import SensitivityMetric
from bitsweep.errors import InvalidArgumentError, error
from bitsweep.progress import ProgressCallback, SimpleProgress, TextProgress
from bitsweep.quantsim import QuantizationSimModel

__all__ = ["Groups", "Mode", "ScoreSettings", "restored_switches", "score_groups"]

Groups = Mapping[str, Sequence[str]]
Mode = Literal["enable_one", "disable_one", "cumulative"]

# A metric that works for none of the first groups is a mistake of the caller, which should show soon.
_TRIES = 3
_LOG = logging.getLogger("bitsweep")


@dataclass(frozen=True)
class ScoreSettings:
    """How states are scored; the keywords that the analysis functions share."""

    mode: Mode = "enable_one"
    progress: ProgressCallback | None = None
    num_threads: int = 0
    reuse: bool = True
    run_directory: str | os.PathLike[str] | None = None


@contextlib.contextmanager
def restored_switches(sim: QuantizationSimModel) -> Iterator[None]:
    """Puts every quantizer's switch back when the block ends, whichever way."""
    quantizers = list(sim.qc_quantize_op_dict.values())
    before = [q.enabled for q in quantizers]
    try:
        yield
    finally:
        for quantizer, on in zip(quantizers, before, strict=True):
            quantizer.enabled = on


def score_groups(
    sim: QuantizationSimModel, groups: Groups, metric: SensitivityMetric, settings: ScoreSettings
) -> dict[str, float]:
    """Score per group, in the order of `groups`; groups that lead to the same state (ties) are evaluated once.

    A group for which the metric fails is left out and named in a warning; only when it fails for each of the first few
    groups, or for all, the first failure reaches the caller. The switches of all quantizers are as before on every exit.
    """
    if isinstance(metric.eval_fn, Evaluator) and metric.eval_fn.runs_natively(sim):
        return _native_scores(sim, groups, metric.eval_fn, settings)
    return _SessionSweep(sim, groups, metric, settings).run()


def _native_scores(
    sim: QuantizationSimModel, groups: Groups, evaluator: Evaluator, settings: ScoreSettings
) -> dict[str, float]:
    native = evaluator.native
    result = _core.sweep(
        sim.native,
        evaluator.feeds,
        [_core.SweepGroup(key, list(names)) for key, names in groups.items()],
        [_core.MetricChoice(native.name, k=native.k, outputs=native.outputs, max_db=native.max_db)],
        mode=settings.mode,
        run_directory=_folder(settings),
        reuse=settings.reuse,
        num_threads=settings.num_threads,
        progress=settings.progress,
    )
    continued = result.notes[:1] if result.num_kept > 0 else []
    _tell(continued, result.notes[len(continued) :], settings.progress)
    scores = {s.name: s.score for s in result.scores}
    return {key: scores[key] for key in groups if key in scores}


class _SessionSweep:
    """Calls the metric with the session, once in each state."""

    def __init__(
        self,
        sim: QuantizationSimModel,
        groups: Groups,
        metric: SensitivityMetric,
        settings: ScoreSettings,
    ) -> None:
        self._sim = sim
        self._metric = metric
        self._settings = settings
        self._states = _states(sim, groups, settings.mode)
        self._twin = _twins(sim, self._states)
        self._distinct = list(dict.fromkeys(self._twin.values()))
        self._scores: dict[str, float] = {}
        self._failures: list[tuple[str, Exception]] = []
        self._num_kept = 0

    def run(self) -> dict[str, float]:
        """Score of each group whose state the metric could score."""
        with self._journal() as journal:
            self._score_all(journal)
            notes = [] if journal is None else journal.notes()
        for key, failure in self._failures:
            warnings.warn(
                f'"{key}" has no score, the metric failed: {type(failure).__name__}: {failure}',
                stacklevel=4,
            )
        continued = (
            f"continued: {self._num_kept} of {len(self._distinct)} scores "
            f"were in {self._settings.run_directory} already"
        )
        _tell([continued] if self._num_kept else [], notes, self._settings.progress)
        return {key: self._scores[same] for key, same in self._twin.items() if same in self._scores}

    def _score_all(self, journal: _core.ScoreJournal | None) -> None:
        progress, session = self._settings.progress, self._sim.session
        start = time.monotonic()
        states = [self._states[key] for key in self._distinct]
        sharing = session.reusing(states) if self._settings.reuse else contextlib.nullcontext()
        with restored_switches(self._sim), sharing:
            for done, key in enumerate(self._distinct, start=1):
                self._score(key, journal)
                if not self._scores and done in (_TRIES, len(self._distinct)):
                    raise self._failures[0][1]
                if progress is not None and progress(self._progress(done, start)):
                    break

    @contextlib.contextmanager
    def _journal(self) -> Iterator[_core.ScoreJournal | None]:
        folder = _folder(self._settings)
        if folder is None:
            yield None
            return
        metric = self._metric
        if metric.identity is not None:
            identity = f"given {metric.name}: {metric.identity}"
        else:
            identity = "seen " + fingerprint(metric.eval_fn, "eval_fn")
        journal = _core.ScoreJournal(self._sim.native, folder, identity, self._settings.reuse)
        with contextlib.closing(journal):
            yield journal

    def _score(self, key: str, journal: _core.ScoreJournal | None) -> None:
        names = self._states[key]
        known = None if journal is None else journal.find(names)
        if known is not None:
            self._scores[key] = known
            self._num_kept += 1
            return
        quantizers = self._sim.qc_quantize_op_dict
        on = {id(quantizers[name]) for name in names}
        for quantizer in quantizers.values():
            quantizer.enabled = id(quantizer) in on
        try:
            score = _checked(self._metric(self._sim.session), key)
        except Exception as e:
            self._failures.append((key, e))
            return
        self._scores[key] = score
        if journal is not None:
            journal.put(names, score)

    def _progress(self, done: int, start: float) -> SimpleProgress:
        elapsed = time.monotonic() - start
        # Kept scores cost no time; -1: not known before the first call of the metric.
        called = done - self._num_kept
        left = elapsed / called * (len(self._distinct) - done) if called else -1.0
        high_first = self._metric.higher_is_worse == (self._settings.mode == "enable_one")
        pick = max if high_first else min
        worst = pick(self._scores, key=self._scores.__getitem__, default="")
        return SimpleProgress(
            done, len(self._distinct), elapsed, left, worst, self._scores.get(worst, math.nan)
        )


def _folder(settings: ScoreSettings) -> Path | None:
    return None if settings.run_directory is None else Path(settings.run_directory)


def _tell(
    continued: Sequence[str], troubles: Sequence[str], progress: ProgressCallback | None
) -> None:
    """Says what a run directory did: under the line of progress, in the log, and as warnings where it has troubles."""
    for text in continued:
        _LOG.info(text)
        if isinstance(progress, TextProgress):
            progress.note(text)
    for text in troubles:
        warnings.warn(text, stacklevel=4)


def _states(sim: QuantizationSimModel, groups: Groups, mode: Mode) -> dict[str, list[str]]:
    """Tensors whose quantizers are on while a group is scored."""
    quantizers = sim.qc_quantize_op_dict
    if mode == "enable_one":
        return {key: list(names) for key, names in groups.items()}
    if mode == "disable_one":
        enabled = [name for name, q in quantizers.items() if q.enabled]
        states = {}
        for key, names in groups.items():
            off = {id(quantizers[name]) for name in names}
            states[key] = [name for name in enabled if id(quantizers[name]) not in off]
        return states
    if mode == "cumulative":
        so_far: list[str] = []
        states = {}
        for key, names in groups.items():
            so_far = [*so_far, *names]
            states[key] = so_far
        return states
    raise error(
        InvalidArgumentError,
        "sweep",
        f'no mode is named "{mode}"',
        "use one of: enable_one, disable_one, cumulative",
    )


def _twins(sim: QuantizationSimModel, states: Groups) -> dict[str, str]:
    """Each group's first one with the same state (ties), which is evaluated in its place."""
    quantizers = sim.qc_quantize_op_dict
    first: dict[frozenset[int], str] = {}
    return {
        key: first.setdefault(frozenset(id(quantizers[n]) for n in names), key)
        for key, names in states.items()
    }


def _checked(score: Any, key: str) -> float:
    """A number that can be ranked: NaN would give an order that means nothing."""
    try:
        value = float(score)
    except (TypeError, ValueError):
        value = math.nan
    if math.isnan(value):
        raise error(
            InvalidArgumentError,
            "sensitivity",
            f'the metric returned {score!r} for "{key}"',
            "return a number that is not NaN",
        )
    return value
