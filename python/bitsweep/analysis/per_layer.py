"""Sensitivity of every operator: the score with only its quantizers enabled."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bitsweep import _core
from bitsweep._group_scores import Mode, ScoreSettings, score_groups
from bitsweep.analysis.metrics import SensitivityMetric
from bitsweep.errors import InvalidArgumentError, NotReadyError, error
from bitsweep.progress import ProgressCallback, resolve
from bitsweep.quantsim import QuantizationSimModel

__all__ = ["analyze_per_layer_sensitivity"]


def analyze_per_layer_sensitivity(
    sim: QuantizationSimModel,
    eval_fn: Callable[[Any], Any],
    filename: str | os.PathLike[str] | None = None,
    *,
    mode: Mode = "enable_one",
    run_directory: str | os.PathLike[str] | None = None,
    progress: bool | ProgressCallback | None = None,
    num_threads: int = 0,
    reuse: bool = True,
) -> dict[str, float]:
    """Score every operator by enabling its quantizers alone.

    Parameters
    ----------
    sim : QuantizationSimModel
        Calibrated simulation; its switches are as before when the function ends, whichever way.
    eval_fn : callable
        ``session -> float``, e.g. from ``make_psnr_eval_fn``; or a :class:`SensitivityMetric`, which may have an
        `identity` for the run directory.
    filename : path, optional
        Page to write; ``.html`` is added when missing, and the folder is made.
    mode, run_directory, progress, num_threads, reuse
        As for ``analyze_per_quantizer_sensitivity``.

    Returns
    -------
    dict of str to float
        Node name to score, in topological order.

    Raises
    ------
    RuntimeError
        When no operator has an enabled quantizer, or one is not calibrated.
    ValueError
        When `eval_fn` cannot be called, or returns no number.

    Examples
    --------
    >>> scores = analyze_per_layer_sensitivity(sim, eval_fn)  # doctest: +SKIP
    """
    if not callable(eval_fn):
        raise error(
            InvalidArgumentError,
            "analyze_per_layer_sensitivity",
            f"eval_fn is a {type(eval_fn).__name__}, which cannot be called",
            "pass a function that takes a session and returns a number",
        )
    layers = {g.name: g.tensors for g in _core.group_by_layer(sim.native)}
    if not layers:
        raise error(
            NotReadyError,
            "analyze_per_layer_sensitivity",
            "no operator has an enabled quantizer",
            "enable quantizers first",
        )
    metric = eval_fn
    if not isinstance(metric, SensitivityMetric):
        metric = SensitivityMetric("score", eval_fn, higher_is_worse=False)
    scores = score_groups(
        sim,
        layers,
        metric,
        ScoreSettings(
            mode=mode,
            progress=resolve(progress),
            num_threads=num_threads,
            reuse=reuse,
            run_directory=run_directory,
        ),
    )
    if filename is not None:
        path = Path(filename)
        path = path if path.suffix == ".html" else path.with_name(path.name + ".html")
        path.parent.mkdir(parents=True, exist_ok=True)
        _core.write_lines_page(path, title="Sensitivity of each layer", values=list(scores.items()))
    return scores
