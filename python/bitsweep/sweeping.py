"""The native sweep on samples, with everything that it measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from bitsweep import _core
from bitsweep._argument_types import checked_types
from bitsweep.data import Feed, Samples
from bitsweep.errors import InvalidArgumentError, NotReadyError, error, require_one_of
from bitsweep.progress import ProgressCallback, resolve
from bitsweep.quantsim import QuantizationSimModel

__all__ = ["group_quantizers", "metrics", "save_sweep_plot", "save_sweep_results", "sweep"]

metrics = _core.metrics

Group = Literal["quantizer", "op"] | Callable[[str], "str | None"]


@checked_types
def sweep(
    sim: QuantizationSimModel,
    samples: Iterable[Feed] | _core.SampleSource,
    *,
    metric: str | Sequence[str] = "sqnr",
    group: Group = "quantizer",
    mode: Literal["enable_one", "disable_one", "cumulative"] = "enable_one",
    only: Literal["weights", "activations"] | None = None,
    include: str | Sequence[str] = (),
    labels: Iterable[Any] | None = None,
    k: int = 10,
    outputs: Sequence[int | str] = (),
    combine: Literal["worst", "mean"] = "worst",
    until: Literal["stable"] | None = None,
    top: float = 0.1,
    threshold: float | None = None,
    interactions: bool = False,
    run_directory: str | os.PathLike[str] | None = None,
    max_kept_bytes: int = 1_000_000_000,
    num_threads: int = 0,
    thread_use: Literal["states", "runs", "measured"] = "states",
    max_memory_bytes: int = 0,
    reuse: bool = True,
    progress: bool | ProgressCallback | None = None,
) -> _core.SweepResult:
    """Score every quantizer, operator or group, by enabling it alone, with built-in metrics.

    Samples are read one after another; memory does not grow with their number.

    Parameters
    ----------
    sim : QuantizationSimModel
        Calibrated simulation; its switches are as before when the function ends, whichever way.
    samples : iterable of dict of str to ndarray
        Model inputs by name; or what ``bitsweep.data.open_samples`` gives.
    metric : str or sequence of str
        From ``bitsweep.metrics()``; several are scored from the same runs, and the first one ranks.
    group : {"quantizer", "op"} or callable
        What is switched together. A function maps the name of a quantizer to that of its group; None leaves it out.
    mode : {"enable_one", "disable_one", "cumulative"}
        What is on while a group is scored: it alone, all but it, or it and all groups before it.
    only : {"weights", "activations"}, optional
        Score only those.
    include : str or sequence of str
        Score only tensors with such names; ``*`` and ``?`` stand for anything.
    labels : iterable of int or ndarray, optional
        The truth for each sample, for metrics that need it: an index for each row of the output's last axis.
    k : int
        Entries per position of top-k metrics.
    outputs : sequence of int or str
        Outputs to compare, by position or name; empty: all floating-point ones.
    combine : {"worst", "mean"}
        How the scores of several outputs become one.
    until : {"stable"}, optional
        Spend samples only on groups whose place is not sure yet. Samples should come in no special order.
    top, threshold : float
        With ``until``: the most sensitive part to find, or all groups that score worse than a threshold.
    interactions : bool
        Also compute how the groups' errors add up: ``result.interactions``, ``result.predict(...)``.
    run_directory : path, optional
        Folder that keeps every answer. A sweep that was killed or stopped continues there, another metric needs no run,
        and nothing is served for another model, encoding or sample.
    max_kept_bytes : int
        Limit of the outputs kept there.
    num_threads : int
        0: one per core.
    thread_use : {"states", "runs", "measured"}
        What threads do at the same time: a group each, which gives the same bits for any number of them; all the same
        run; or what passes of the float model show to be clearly faster when the sweep starts.
    max_memory_bytes : int
        For sessions and kept activations; 0: half of the machine's memory.
    reuse : bool
        False runs the whole simulated model for each group.
    progress : bool or callable, optional
        As for ``analyze_per_quantizer_sensitivity``.

    Returns
    -------
    SweepResult
        ``scores`` from most to least sensitive, each with ``name, score, rank, per_sample, per_output, interval,
        tied_with_next``, in the unit of the metric; ``more`` has those of further metrics. Also ``groups``, ``stability``,
        ``interactions``, ``num_samples, forward_equivalents, num_runs, num_kept, elapsed_s`` and ``notes``.

    Raises
    ------
    ValueError
        For an unknown metric or samples that do not fit the model.
    RuntimeError
        Without enabled quantizers, with one that is not calibrated, or when another process uses the run directory.

    Examples
    --------
    >>> result = sweep(sim, feeds, metric=["sqnr", "kl"])  # doctest: +SKIP
    >>> result.scores[0]  # doctest: +SKIP
    1. conv1.weight: 17.31
    """
    names = [metric] if isinstance(metric, str) else list(metric)
    compared = output_positions(sim, outputs, "sweep")
    choices = [
        _core.MetricChoice(name, k=k, outputs=compared, mean=combine == "mean") for name in names
    ]
    require_one_of("sweep", "combination", combine, ("worst", "mean"))
    if until is not None:
        require_one_of("sweep", "end of a sweep", until, ("stable",))
    source = samples if isinstance(samples, _core.SampleSource) else Samples(samples)
    return _core.sweep(
        sim.native,
        source,
        group_quantizers(sim, group, only=only, include=include),
        choices,
        labels=labels,
        mode=mode,
        until_stable=(
            _core.AdaptiveOptions(top_fraction=top, threshold=threshold) if until else None
        ),
        interactions=interactions,
        run_directory=None if run_directory is None else Path(run_directory),
        max_kept_bytes=max_kept_bytes,
        reuse=reuse,
        num_threads=num_threads,
        thread_use=thread_use,
        max_memory_bytes=max_memory_bytes,
        progress=resolve(progress),
    )


def output_positions(
    sim: QuantizationSimModel, outputs: Sequence[int | str], where: str
) -> list[int]:
    """Positions of outputs of the model that are given by position or name."""
    known = [output.name for output in sim.native.model.outputs()]
    positions = []
    for output in outputs:
        if isinstance(output, str):
            require_one_of(where, "output of the model", output, known)
            output = known.index(output)
        positions.append(int(output))
    return positions


def save_sweep_plot(
    sim: QuantizationSimModel, result: _core.SweepResult, path: str | os.PathLike[str]
) -> None:
    """Writes a page with the scores along the network, their intervals, ties and interactions.

    Parameters
    ----------
    sim : QuantizationSimModel
        What :func:`sweep` was called with.
    result : SweepResult
        With at least one score.
    path : path
        HTML file to write; it needs no network.

    Raises
    ------
    bitsweep.Error
        For a result without scores, or a path that cannot be written.

    Examples
    --------
    >>> save_sweep_plot(sim, result, "report.html")  # doctest: +SKIP
    """
    _core.write_sweep_page(Path(path), sim.native, result)


def save_sweep_results(result: _core.SweepResult, path: str | os.PathLike[str]) -> None:
    """Writes every score as JSON, also per sample; equal results give equal bytes.

    Parameters
    ----------
    result : SweepResult
    path : path
        File to write. Numbers that JSON lacks are the strings ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``, which
        ``float`` reads.

    Raises
    ------
    bitsweep.Error
        For a path that cannot be written.

    Examples
    --------
    >>> save_sweep_results(result, "results.json")  # doctest: +SKIP
    """
    _core.write_text_file(Path(path), _core.sweep_to_json(result))


@checked_types
def group_quantizers(
    sim: QuantizationSimModel,
    group: Group = "quantizer",
    *,
    only: Literal["weights", "activations"] | None = None,
    include: str | Sequence[str] = (),
) -> list[_core.SweepGroup]:
    """The enabled quantizers as groups, in the order of the simulation; see :func:`sweep`.

    Raises
    ------
    RuntimeError
        When no quantizer is left.
    ValueError
        For another kind of group.

    Examples
    --------
    >>> group_quantizers(sim, lambda name: name.split(".")[0])  # doctest: +SKIP
    """
    if only is not None:
        require_one_of("sweep", "part", only, ("weights", "activations"))
    if not callable(group) and group not in ("quantizer", "op"):
        raise error(
            InvalidArgumentError,
            "sweep",
            f'no group is named "{group}"',
            "use quantizer, op or a function",
        )
    parameters, activations = only != "activations", only != "weights"
    patterns = [include] if isinstance(include, str) else list(include)
    if group == "op":
        groups = _core.group_by_operator(
            sim.native, parameters=parameters, activations=activations, patterns=patterns
        )
    else:
        groups = _core.group_by_quantizer(
            sim.native, parameters=parameters, activations=activations, patterns=patterns
        )
        if callable(group):
            named: dict[str, list[str]] = {}
            for single in groups:
                key = group(single.name)
                if key is not None:
                    named.setdefault(key, []).append(single.name)
            groups = [_core.SweepGroup(key, tensors) for key, tensors in named.items()]
    if not groups:
        raise error(
            NotReadyError,
            "sweep",
            "no enabled quantizer is left to analyse",
            "enable quantizers, or check group, only and include",
        )
    return groups
