"""Mixed precision under a budget: the cheapest bit-widths that keep the quality, proven by a run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bitsweep import _core
from bitsweep._amp_evaluator import as_number
from bitsweep._argument_types import checked_types
from bitsweep.common.defs import qtype
from bitsweep.data import Feed, Samples
from bitsweep.errors import InvalidArgumentError, error
from bitsweep.progress import ProgressCallback, SimpleProgress, TextProgress, resolve
from bitsweep.quantsim import QuantizationSimModel
from bitsweep.sweeping import output_positions

__all__ = ["apply_policy", "mix", "mix_costs", "save_mix_plot", "save_policy"]

Source = Iterable[Feed] | _core.SampleSource

mix_costs = _core.mix_costs


@checked_types
def mix(
    sim: QuantizationSimModel,
    samples: Source,
    candidates: Sequence[str | tuple[qtype | str, qtype | str]],
    targets: str | Sequence[str] = (),
    *,
    calibration: Source | None = None,
    test: Source | None = None,
    cost: str = "bops",
    outputs: Sequence[int | str] = (),
    ignore_kernels: bool = False,
    same_format: Sequence[Sequence[str]] = (),
    pinned: Mapping[str, str | tuple[qtype | str, qtype | str]] | None = None,
    frontier_points: int = 12,
    frontier_costs: Sequence[float] = (),
    tolerance_db: float = 0.25,
    num_threads: int = 0,
    max_memory_bytes: int = 0,
    apart: bool = False,
    run_directory: str | os.PathLike[str] | None = None,
    latency_table: str | os.PathLike[str] | None = None,
    test_labels: Iterable[Any] | None = None,
    check: str | Callable[[Any], Any] | Sequence[str | Callable[[Any], Any]] = (),
    progress: bool | ProgressCallback | None = None,
) -> _core.MixResult:
    """Chooses the types of all quantizer groups for a cost or a quality.

    The simulation is left calibrated in the chosen configuration, or as it was when nothing was chosen.

    Parameters
    ----------
    sim : QuantizationSimModel
        Changed in place; need not be calibrated.
    samples : iterable of dict
        What the search measures with; must allow going through again.
    candidates : list
        ``"W8A16"``, ``"float"`` (a group stays in float), or ``(parameter type, activation type)``. After ``@`` the
        granularity of the weights, a range estimator, or both: ``"W4A8@block32"``, ``"W8A8@per_channel@mse"``,
        ``"W8A8@percentile99.9"``.
    targets : str or list of str
        ``"sqnr>=35"``, ``"bops<=0.6"``, ``"bytes<=12MB"``, ``"gbops<=4"``, ``"share16<=0.2"``, ``"peak<=4MB"``. With a
        quality the cost is minimised, else the quality maximised; none: only the frontier.
    calibration : iterable of dict, optional
        Samples that ranges come from; default: `samples`.
    test : iterable of dict, optional
        Samples that only the final check sees.
    cost : str
        What is minimised, and the axis of the frontier; one of ``mix_costs()``.
    outputs : sequence of int or str
        Outputs whose error counts, by position or name, such as the logits of a language model; empty: all
        floating-point ones.
    ignore_kernels : bool
        Ignores the kernels that the rules file lists.
    same_format : list of lists of str
        Tensors whose groups get the same types.
    pinned : dict of str to candidate, optional
        Tensors whose groups keep a candidate.
    frontier_points : int
        Points of the curve, each run for real; 0: no curve. The curve may hold more: every configuration that was run
        and that none beats.
    frontier_costs : list of float
        Costs, in units of `cost`: the curve also gets the best configuration found within each.
    tolerance_db : float
        Difference between predicted and measured quality that ends the search.
    num_threads : int
        States evaluated at the same time; 0: one per core.
    max_memory_bytes : int
        For sessions and kept boundaries; 0: half of the machine's memory.
    apart : bool
        Decides weights and activations of a group apart, where the kernels allow it.
    run_directory : path, optional
        Keeps every run there: a killed mix continues, another budget or candidate costs only what is new.
    latency_table : path, optional
        CSV with the times of operators on the target, for the cost ``"latency"``: header
        ``operator,shape,weights,activations,ms``, the shape of the output as in ``1x64x56x56``, types as in ``int8``,
        ``*`` for any, ``-`` for no weights.
    test_labels : iterable of ndarray, optional
        The truth of `test`, one array for each sample.
    check : str, callable, or a list of them
        Further looks at the choice on data that the search did not see: names of metrics, computed on `test` (such as
        ``"accuracy"`` with `test_labels`), or functions ``session -> number`` of your own.
    progress : bool or callable, optional
        None draws a line on a terminal or in a notebook; a function gets a :class:`bitsweep.progress.Progress` with the
        ``stage``, and stops the mix by returning something true.

    Returns
    -------
    MixResult
        ``chosen`` (None with the reason in ``infeasible``), ``frontier``, ``test_db``, ``checks`` (each with
        ``name``, ``score`` and ``float_score``), ``gap``.

    Raises
    ------
    bitsweep.Error
        For targets, candidates or tensors that make no sense. Whatever a function raises leaves the simulation as it
        was, and what was measured stays in `run_directory`.

    Examples
    --------
    >>> result = mix(sim, feeds, ["W8A8", "W8A16"], "sqnr>=35", test=more_feeds)  # doctest: +SKIP
    >>> result.chosen.measured_db  # doctest: +SKIP
    """
    search = _source(samples)
    checks = [check] if isinstance(check, str) or callable(check) else list(check)
    show = resolve(progress)
    try:
        return _core.mix(
            sim.native,
            search if calibration is None else _source(calibration),
            search,
            None if test is None else _source(test),
            [_candidate(c) for c in candidates],
            [targets] if isinstance(targets, str) else list(targets),
            cost=cost,
            outputs=output_positions(sim, outputs, "mix"),
            ignore_kernels=ignore_kernels,
            same_format=[list(names) for names in same_format],
            pinned=[(name, _candidate(c)) for name, c in (pinned or {}).items()],
            frontier_points=frontier_points,
            frontier_costs=list(frontier_costs),
            tolerance_db=tolerance_db,
            num_threads=num_threads,
            max_memory_bytes=max_memory_bytes,
            apart=apart,
            run_directory="" if run_directory is None else os.fspath(run_directory),
            latency_table="" if latency_table is None else os.fspath(latency_table),
            test_labels=None if test_labels is None else list(test_labels),
            check_metrics=[c for c in checks if isinstance(c, str)],
            own_checks=[_own_check(sim, c) for c in checks if not isinstance(c, str)],
            progress=None if show is None else _Stages(show),
        )
    finally:
        _end_line(show)


def _end_line(show: ProgressCallback | None) -> None:
    if isinstance(show, TextProgress):
        show.close()


class _Stages:
    """Times the stages of a mix, which are of unknown length, for a progress function."""

    def __init__(self, show: ProgressCallback) -> None:
        self._show = show
        self._stage = ""
        self._start = 0.0

    def __call__(self, native: _core.MixProgress) -> Any:
        if native.stage == "check":  # of the curve: these mixes are counted already
            return None
        if native.stage != self._stage:
            _end_line(self._show)
            self._stage = native.stage
            self._start = time.monotonic()
        elapsed = time.monotonic() - self._start
        done, total = native.done, native.total
        if native.stage == "measure mixes":
            done, total = native.num_mixes, -1
        remaining = elapsed / done * (total - done) if done > 0 and total > 0 else -1.0
        return self._show(SimpleProgress(done, total, elapsed, remaining, stage=native.stage))


@checked_types
def save_mix_plot(
    sim: QuantizationSimModel,
    result: _core.MixResult,
    path: str | os.PathLike[str],
    *,
    cost: str = "bops",
    targets: str | Sequence[str] = (),
) -> None:
    """Writes a page with the curve of quality against cost, and the types of each group in each of its points.

    Parameters
    ----------
    sim : QuantizationSimModel
        What :func:`mix` was called with.
    result : MixResult
        With a frontier.
    path : path
        HTML file to write; it needs no network.
    cost : str
        Axis of the curve; one of ``mix_costs()``.
    targets : str or list of str
        What was asked for; shown beside the curve.

    Raises
    ------
    bitsweep.Error
        For a result without points, an unknown cost, or a path that cannot be written.

    Examples
    --------
    >>> save_mix_plot(sim, result, "frontier.html", targets="sqnr>=35")  # doctest: +SKIP
    """
    asked = [targets] if isinstance(targets, str) else list(targets)
    _core.write_mix_page(Path(path), sim.native, result, cost, asked)


def save_policy(
    sim: QuantizationSimModel, result: _core.MixResult, path: str | os.PathLike[str]
) -> None:
    """Writes the chosen configuration as JSON, for :func:`apply_policy`.

    Examples
    --------
    >>> save_policy(sim, result, "policy.json")  # doctest: +SKIP
    """
    _core.write_text_file(Path(path), _core.mix_policy_json(sim.native, result))


def apply_policy(sim: QuantizationSimModel, path: str | os.PathLike[str]) -> None:
    """Sets what a policy file says: types, granularity, estimators; calibrate afterwards.

    Raises
    ------
    bitsweep.Error
        For a file that is no policy, or one of another model; nothing is changed then.

    Examples
    --------
    >>> apply_policy(sim, "policy.json")  # doctest: +SKIP
    """
    _core.apply_mix_policy(sim.native, Path(path).read_text(encoding="utf-8"))


def _source(samples: Source) -> _core.SampleSource | Samples:
    return samples if isinstance(samples, _core.SampleSource) else Samples(samples)


def _candidate(value: str | tuple[qtype | str, qtype | str]) -> _core.Candidate:
    if isinstance(value, str):
        return _core.parse_mix_candidate(value)
    parameter, activation_type = value
    return _core.Candidate(qtype.as_qtype(activation_type).format, qtype.as_qtype(parameter).format)


def _own_check(
    sim: QuantizationSimModel, function: Callable[[Any], Any]
) -> tuple[str, Callable[[], float]]:
    name = getattr(function, "__name__", type(function).__name__)
    if not callable(function):
        raise error(
            InvalidArgumentError,
            "mix",
            f"check holds a {name}",
            "pass names of metrics or functions of the session",
        )
    return name, lambda: as_number(function(sim.session), f'the check "{name}"')
