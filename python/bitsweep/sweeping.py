"""The native sweep on samples, with everything that it measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from bitsweep import _core
from bitsweep.data import Feed, Samples
from bitsweep.progress import ProgressCallback, resolve
from bitsweep.quantsim import QuantizationSimModel

__all__ = ["metrics", "sweep"]

metrics = _core.metrics


def sweep(
    sim: QuantizationSimModel,
    samples: Iterable[Feed] | _core.SampleSource,
    *,
    metric: str = "sqnr",
    group: Literal["quantizer", "op"] = "quantizer",
    k: int = 10,
    outputs: Sequence[int] = (),
    num_threads: int = 0,
    max_memory_bytes: int = 0,
    reuse: bool = True,
    progress: bool | ProgressCallback | None = None,
) -> _core.SweepResult:
    """Score every quantizer, or operator, by enabling it alone, with a built-in metric.

    Samples are read one after another; memory does not grow with their number.

    Parameters
    ----------
    sim : QuantizationSimModel
        Calibrated simulation; its switches are as before when the function ends, whichever way.
    samples : iterable of dict of str to ndarray
        Model inputs by name; or what ``bitsweep.data.open_samples`` gives.
    metric : str
        One of ``bitsweep.metrics()``.
    group : {"quantizer", "op"}
        What is switched on together.
    k : int
        Entries per position of top-k metrics.
    outputs : sequence of int
        Outputs to compare; empty: all floating-point ones.
    num_threads : int
        Groups evaluated at the same time; 0: one per core.
    max_memory_bytes : int
        For sessions and kept activations; 0: half of the machine's memory.
    reuse : bool
        False runs the whole simulated model for each group.
    progress : bool or callable, optional
        As for ``analyze_per_quantizer_sensitivity``.

    Returns
    -------
    SweepResult
        ``scores`` from most to least sensitive, each with ``name, score, rank, per_sample``, in the unit of the metric;
        and ``num_samples, forward_equivalents, num_runs, elapsed_s``.

    Raises
    ------
    ValueError
        For an unknown metric or samples that do not fit the model.
    RuntimeError
        Without enabled quantizers, or with one that is not calibrated.

    Examples
    --------
    >>> result = sweep(sim, feeds, metric="sqnr")  # doctest: +SKIP
    >>> result.scores[0]  # doctest: +SKIP
    1. conv1.weight: 17.31
    """
    if group not in ("quantizer", "op"):
        raise ValueError(f'sweep: no group is named "{group}"; use quantizer or op')
    make = _core.group_by_quantizer if group == "quantizer" else _core.group_by_operator
    source = samples if isinstance(samples, _core.SampleSource) else Samples(samples)
    return _core.sweep(
        sim.native,
        source,
        make(sim.native),
        metric=metric,
        k=k,
        outputs=list(outputs),
        reuse=reuse,
        num_threads=num_threads,
        max_memory_bytes=max_memory_bytes,
        progress=resolve(progress),
    )
