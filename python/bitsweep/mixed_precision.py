"""Mixed precision: which quantizers can go down to fewer bits while the score stays."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bitsweep import _core
from bitsweep._amp_evaluator import SearchEvaluator
from bitsweep._amp_files import ResultsFolder
from bitsweep._candidates import Candidate, from_native, to_native
from bitsweep.amp.two_step import (
    Precision,
    analyze_mixed_precision_sensitivity,
    apply_amp,
    w8a8,
    w8a16,
    w16a16,
)
from bitsweep.common.amp.utils import AMPSearchAlgo
from bitsweep.common.defs import QuantizationDataType
from bitsweep.errors import InvalidArgumentError, error
from bitsweep.quantsim import QuantizationSimModel

__all__ = [
    "Candidate",
    "ParetoPoint",
    "Precision",
    "QuantizerGroup",
    "analyze_mixed_precision_sensitivity",
    "apply_amp",
    "choose_mixed_precision",
    "visualize_pareto_curve",
    "visualize_quantizer_group_sensitivity",
    "w8a8",
    "w8a16",
    "w16a16",
]

_SEARCHES = {
    AMPSearchAlgo.Binary: "binary",
    AMPSearchAlgo.Interpolation: "interpolation",
    AMPSearchAlgo.BruteForce: "brute_force",
}


@dataclass(frozen=True)
class QuantizerGroup:
    """Quantizers that change their type together.

    Attributes
    ----------
    parameter_quantizers, activation_quantizers : tuple of str
        Tensor names, sorted.
    """

    parameter_quantizers: tuple[str, ...] = ()
    activation_quantizers: tuple[str, ...] = ()


class ParetoPoint(NamedTuple):
    """A measured configuration: everything up to this change of the list applied.

    Attributes
    ----------
    relative_bit_ops : float
        Against the best candidate everywhere.
    eval_score : float
        Of phase 2.
    group : QuantizerGroup
        Changed last.
    candidate : tuple
        What it was changed to.
    """

    relative_bit_ops: float
    eval_score: float
    group: QuantizerGroup
    candidate: tuple[tuple[int, QuantizationDataType], ...]


def choose_mixed_precision(
    sim: QuantizationSimModel,
    candidates: Sequence[Candidate],
    eval_callback_for_phase1: Callable[[Any], Any],
    eval_callback_for_phase2: Callable[[Any], Any],
    allowed_accuracy_drop: float | None,
    results_dir: str | os.PathLike[str],
    clean_start: bool,
    forward_pass_callback: Callable[..., Any],
    use_all_amp_candidates: bool = False,
    phase1_optimize: bool = True,
    amp_search_algo: AMPSearchAlgo = AMPSearchAlgo.Binary,
) -> list[ParetoPoint] | None:
    """Lowers the precision of one quantizer group after the other while the score stays within the allowed drop.

    The simulation is left calibrated in the chosen configuration. When a function raises, every quantizer is as before.

    Parameters
    ----------
    sim : QuantizationSimModel
        Changed in place.
    candidates : list of ((activation bits, kind), (parameter bits, kind))
        Types to choose from; kind is a ``QuantizationDataType``.
    eval_callback_for_phase1 : callable
        ``session -> float``, higher is better; scores single groups. A subset of the data will do.
    eval_callback_for_phase2 : callable
        The same; scores whole configurations and decides.
    allowed_accuracy_drop : float or None
        How far the phase-2 score may fall below that of the float model. None: measures every point of the curve and
        takes the last one.
    results_dir : path
        For the lists, the pages and the cache.
    clean_start : bool
        True forgets the cache. It is used only for the same model, rules, candidates, ranges and scores.
    forward_pass_callback : callable
        Runs calibration samples: a ``CallbackFunc``, or a function of the session.
    use_all_amp_candidates : bool
        Ignores the kernels that the rules file lists.
    phase1_optimize : bool
        Calibrates once per candidate instead of once per group and candidate.
    amp_search_algo : AMPSearchAlgo
        How phase 2 looks for the last point within the drop.

    Returns
    -------
    list of ParetoPoint or None
        Measured points in the order of the list; None when the best candidate already falls too far, or the lowest one
        is good enough.

    Raises
    ------
    ValueError
        For candidates, rules or a search that make no sense, for scores that are no number, and for a folder that
        cannot be written.

    Examples
    --------
    >>> points = choose_mixed_precision(  # doctest: +SKIP
    ...     sim, candidates, score, score, 0.5, "results", True, run_samples)
    """
    natives = [(to_native(c), str(c)) for c in candidates]
    if not isinstance(amp_search_algo, AMPSearchAlgo):
        raise error(
            InvalidArgumentError,
            "choose_mixed_precision",
            f"amp_search_algo is {amp_search_algo!r}",
            f"use one of {', '.join(str(a) for a in AMPSearchAlgo)}",
        )
    for name, function in (
        ("eval_callback_for_phase1", eval_callback_for_phase1),
        ("eval_callback_for_phase2", eval_callback_for_phase2),
        ("forward_pass_callback", forward_pass_callback),
    ):
        if not callable(function):
            raise error(
                InvalidArgumentError,
                "choose_mixed_precision",
                f"{name} is a {type(function).__name__}, which cannot be called",
                "pass a function of the session",
            )
    drop = None if allowed_accuracy_drop is None else _as_drop(allowed_accuracy_drop)
    # Groups may hold kernels without parameters, whose candidates lack the second part.
    texts = [
        *natives,
        *(
            (_activation_only(n), str((c[0],)))
            for (n, _), c in zip(natives, candidates, strict=True)
        ),
    ]
    folder = ResultsFolder(results_dir, texts, clean=clean_start)
    evaluator = _CachedEvaluator(
        folder, sim, eval_callback_for_phase1, eval_callback_for_phase2, forward_pass_callback
    )
    try:
        result = _core.greedy_search(
            sim.native,
            [n for n, _ in natives],
            evaluator,
            drop,
            search=_SEARCHES[amp_search_algo],
            ignore_kernels=use_all_amp_candidates,
            share_calibration=phase1_optimize,
        )
    finally:
        folder.flush()
    if result.end != _core.GreedyEnd.SEARCHED:
        return None
    folder.write_info(result)
    entries = [
        (_group(result.groups[e.group]), from_native(e.candidate), e.score, e.reduction)
        for e in result.entries
    ]
    points = [
        ParetoPoint(
            p.relative_bit_ops, p.score, _group(result.groups[p.group]), from_native(p.candidate)
        )
        for p in result.points
    ]
    if entries:
        visualize_quantizer_group_sensitivity(
            entries, from_native(result.baseline), result.float_score, results_dir
        )
        visualize_pareto_curve(points, results_dir)
    return points


class _CachedEvaluator(SearchEvaluator):
    """Keeps the lists in the results folder."""

    def __init__(self, folder: ResultsFolder, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._folder = folder

    def recall(self, identity: str) -> tuple[list[_core.GreedyEntry], list[_core.GreedyPoint]]:
        return self._folder.recall(identity, self._groups)

    def keep_entries(self, entries: list[_core.GreedyEntry]) -> None:
        self._folder.keep_entries(entries, self._groups)

    def keep_points(self, points: list[_core.GreedyPoint]) -> None:
        self._folder.keep_points(points, self._groups)


def _as_drop(value: Any) -> float:
    try:
        drop = float(value)
    except (TypeError, ValueError):
        drop = math.nan
    if math.isnan(drop):
        raise error(
            InvalidArgumentError,
            "choose_mixed_precision",
            f"allowed_accuracy_drop is {value!r}",
            "pass a number in units of the phase-2 score, or None for the whole curve",
        )
    return drop


def _activation_only(candidate: _core.Candidate) -> _core.Candidate:
    return _core.Candidate(candidate.activation)


def _group(native: _core.QuantizerGroup) -> QuantizerGroup:
    return QuantizerGroup(tuple(native.parameters), tuple(native.activations))


def _short(candidate: Sequence[tuple[int, QuantizationDataType]]) -> str:
    texts = [f"{kind.name}{bits}" for bits, kind in candidate]
    return f"W: {texts[1]} / A: {texts[0]}" if len(texts) > 1 else f"A: {texts[0]}"


def _names(group: QuantizerGroup) -> str:
    return ", ".join((*group.activation_quantizers, *group.parameter_quantizers))


def visualize_quantizer_group_sensitivity(
    accuracy_list: Iterable[tuple[QuantizerGroup, Any, float, float]],
    baseline_candidate: Any,
    fp32_accuracy: float,
    results_dir: str | os.PathLike[str],
) -> Path:
    """Writes ``quantizer_group_sensitivity.html``: the score of each group alone in each candidate.

    Parameters
    ----------
    accuracy_list : iterable of (group, candidate, score, reduction)
    baseline_candidate : tuple
        What the other groups would keep; shown above the plot.
    fp32_accuracy : float
        Score of the float model; shown above the plot.
    results_dir : path
        Folder, which must exist.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> visualize_quantizer_group_sensitivity(entries, best, 0.7, "results")  # doctest: +SKIP
    """
    path = Path(results_dir) / "quantizer_group_sensitivity.html"
    _core.write_lines_page(
        path,
        title="Sensitivity of each quantizer group",
        values=[(f"{_names(g)} [{_short(c)}]", float(s)) for g, c, s, *_ in accuracy_list],
        entry_label="Group",
        value_label="Score",
        facts=[
            ("score of the float model", f"{fp32_accuracy:g}"),
            ("baseline", _short(baseline_candidate)),
        ],
    )
    return path


def visualize_pareto_curve(
    pareto_list: Iterable[Sequence[Any]], results_dir: str | os.PathLike[str]
) -> Path:
    """Writes ``pareto_curve.html``: the score of each measured point, fewest bit operations first.

    Parameters
    ----------
    pareto_list : iterable of (relative_bit_ops, score, group, candidate)
    results_dir : path
        Folder, which must exist.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> visualize_pareto_curve(points, "results")  # doctest: +SKIP
    """
    path = Path(results_dir) / "pareto_curve.html"
    points = sorted(((float(p[0]), float(p[1])) for p in pareto_list), key=lambda p: p[0])
    _core.write_frontier_page(
        path,
        title="Score against bit operations",
        cost_label="Relative bit operations",
        quality_label="Score",
        points=points,
    )
    return path
