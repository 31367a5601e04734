"""Scores of quantizer groups, each enabled alone: natively where the metric allows it, else through the session."""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bitsweep import _core
from bitsweep._evaluators import Evaluator
from bitsweep.errors import InvalidArgumentError, error
from bitsweep.progress import ProgressCallback, SimpleProgress
from bitsweep.quantsim import QuantizationSimModel

__all__ = ["restored_switches", "score_groups"]

Groups = Mapping[str, Sequence[str]]

# A metric that works for none of the first groups is a mistake of the caller, which should show soon.
_TRIES = 3


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
    sim: QuantizationSimModel,
    groups: Groups,
    eval_fn: Callable[[Any], Any],
    *,
    higher_is_worse: bool,
    progress: ProgressCallback | None,
    num_threads: int,
    reuse: bool,
) -> dict[str, float]:
    """Score per group, in the order of `groups`; groups with the same quantizers (ties) are evaluated once.

    A group for which `eval_fn` fails is left out and named in a warning; only when it fails for each of the first few
    groups, or for all, the first failure reaches the caller. The switches of all quantizers are as before on every exit.
    """
    if isinstance(eval_fn, Evaluator) and eval_fn.runs_natively(sim):
        return _native_scores(sim, groups, eval_fn, progress, num_threads, reuse)
    return _session_scores(sim, groups, eval_fn, higher_is_worse, progress, reuse)


def _native_scores(
    sim: QuantizationSimModel,
    groups: Groups,
    evaluator: Evaluator,
    progress: ProgressCallback | None,
    num_threads: int,
    reuse: bool,
) -> dict[str, float]:
    native = evaluator.native
    result = _core.sweep(
        sim.native,
        evaluator.feeds,
        [_core.SweepGroup(key, list(names)) for key, names in groups.items()],
        [_core.MetricChoice(native.name, k=native.k, outputs=native.outputs, max_db=native.max_db)],
        reuse=reuse,
        num_threads=num_threads,
        progress=progress,
    )
    scores = {s.name: s.score for s in result.scores}
    return {key: scores[key] for key in groups if key in scores}


def _session_scores(
    sim: QuantizationSimModel,
    groups: Groups,
    eval_fn: Callable[[Any], Any],
    higher_is_worse: bool,
    progress: ProgressCallback | None,
    reuse: bool,
) -> dict[str, float]:
    quantizers = sim.qc_quantize_op_dict
    twin = _twins(sim, groups)
    distinct = {key: groups[key] for key in dict.fromkeys(twin.values())}
    scores: dict[str, float] = {}
    failures = _Failures()
    start = time.monotonic()
    sharing = sim.session.reusing(list(distinct.values())) if reuse else contextlib.nullcontext()
    with restored_switches(sim), sharing:
        for quantizer in quantizers.values():
            quantizer.enabled = False
        for done, (key, names) in enumerate(distinct.items(), start=1):
            for name in names:
                quantizers[name].enabled = True
            try:
                scores[key] = _checked(eval_fn(sim.session), key)
            except Exception as e:
                failures.add(key, e)
            if not scores and (done == _TRIES or done == len(distinct)):
                raise failures.first
            for name in names:
                quantizers[name].enabled = False
            if progress is not None:
                elapsed = time.monotonic() - start
                pick = max if higher_is_worse else min
                worst = pick(scores, key=scores.__getitem__, default="")
                left = elapsed / done * (len(distinct) - done)
                score = scores.get(worst, math.nan)
                if progress(SimpleProgress(done, len(distinct), elapsed, left, worst, score)):
                    break
    failures.warn()
    return {key: scores[same] for key, same in twin.items() if same in scores}


class _Failures:
    """Groups that a metric could not score."""

    def __init__(self) -> None:
        self._failures: list[tuple[str, Exception]] = []

    def add(self, key: str, failure: Exception) -> None:
        """Keeps a failure."""
        self._failures.append((key, failure))

    @property
    def first(self) -> Exception:
        """What went wrong first."""
        return self._failures[0][1]

    def warn(self) -> None:
        """One warning for each group that has no score."""
        for key, failure in self._failures:
            warnings.warn(
                f'"{key}" has no score, the metric failed: {type(failure).__name__}: {failure}',
                stacklevel=5,
            )


def _twins(sim: QuantizationSimModel, groups: Groups) -> dict[str, str]:
    """Each group's first one with the same quantizers (ties), which is evaluated in its place."""
    quantizers = sim.qc_quantize_op_dict
    first: dict[frozenset[int], str] = {}
    return {
        key: first.setdefault(frozenset(id(quantizers[n]) for n in names), key)
        for key, names in groups.items()
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
