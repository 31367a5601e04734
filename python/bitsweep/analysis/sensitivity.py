"""Sensitivity of every quantizer, or group of quantizers: the score with only that one enabled."""

from __future__ import annotations

import os
from collections.abc import Callable

from bitsweep import _core
from bitsweep._group_scores import Mode, ScoreSettings, score_groups
from bitsweep.analysis.metrics import SensitivityMetric
from bitsweep.errors import NotReadyError, error
from bitsweep.progress import ProgressCallback, resolve
from bitsweep.quantsim import QuantizationSimModel

__all__ = ["analyze_per_quantizer_sensitivity", "get_quantizer_op_names", "group_by_op_name"]


def analyze_per_quantizer_sensitivity(
    sim: QuantizationSimModel,
    metric: SensitivityMetric,
    group_fn: Callable[[str], str | None] | None = None,
    *,
    mode: Mode = "enable_one",
    run_directory: str | os.PathLike[str] | None = None,
    progress: bool | ProgressCallback | None = None,
    num_threads: int = 0,
    reuse: bool = True,
) -> dict[str, float]:
    """Score every quantizer, or group, by enabling it alone.

    All quantizers are off but those of the group under test, so the score shows their damage to the float model. The
    switches of the quantizers are as before when the function ends, also after an exception or Ctrl-C. Encodings stay.
    A group for which the metric raises, or returns NaN or no number, is left out and named in a warning.

    Metrics made by ``make_psnr_eval_fn`` and ``make_topk_logit_psnr_metric`` are computed by the engine itself, sample
    by sample for all groups at once. Any other function is called once per group with ``sim.session``; what lies in
    front of the group is taken from earlier runs when the function runs the same samples again.

    Parameters
    ----------
    sim : QuantizationSimModel
        Calibrated simulation.
    metric : SensitivityMetric
        Scores a session. What it raises reaches the caller only when it fails for each of the first groups.
    group_fn : callable, optional
        Quantizer name to group key. Quantizers with one key are enabled together; None leaves a quantizer off. Default:
        each enabled quantizer is a group of its own.
    mode : {"enable_one", "disable_one", "cumulative"}
        What is on while a group is scored: it alone, all enabled ones but it, or it and all groups before it.
    run_directory : path, optional
        Folder that keeps every score as soon as it is there. A sweep that was killed or stopped continues there and says
        so (in the log of "bitsweep", and under the line of progress). Scores are found by content of model, encodings
        and metric; see `identity` of :class:`SensitivityMetric` for what that is for a function of your own.
    progress : bool or callable, optional
        True draws a line with the time left, False is silent, None draws on a terminal only. A function gets an object
        with ``done, total, elapsed_s, remaining_s, worst, worst_score``; it returns something true to stop early.
    num_threads : int
        Groups evaluated at the same time, for metrics that the engine computes; 0: one per core.
    reuse : bool
        False runs the whole simulated model for each group: slow, for comparisons.

    Returns
    -------
    dict of str to float
        Group key to score, most sensitive first (of a cumulative sweep: in the order of the steps); equal scores keep
        the order of the quantizers.

    Raises
    ------
    RuntimeError
        When no enabled quantizer is left to analyse, one is not calibrated, or another process uses the run directory.
    ValueError
        When the metric returns no number, or NaN, for each of the first groups; or, with a run directory, when its
        function holds something that cannot be read and it has no `identity`.

    Examples
    --------
    >>> scores = analyze_per_quantizer_sensitivity(sim, metric)  # doctest: +SKIP
    >>> next(iter(scores))  # the most sensitive one  # doctest: +SKIP
    'conv1.weight'
    """
    if not isinstance(metric, SensitivityMetric):
        raise TypeError(
            f"analyze_per_quantizer_sensitivity: a SensitivityMetric is needed, not {type(metric).__name__}; "
            "wrap the function: SensitivityMetric(name, eval_fn, higher_is_worse)"
        )
    scores = score_groups(
        sim,
        _groups(sim, group_fn),
        metric,
        ScoreSettings(
            mode=mode,
            progress=resolve(progress),
            num_threads=num_threads,
            reuse=reuse,
            run_directory=run_directory,
        ),
    )
    if mode == "cumulative":
        return scores
    # Without a sensitive group the rest is better.
    sign = -1.0 if mode == "enable_one" else 1.0
    return dict(sorted(scores.items(), key=lambda item: sign * metric.sensitivity_score(item[1])))


def _groups(
    sim: QuantizationSimModel, group_fn: Callable[[str], str | None] | None
) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    enabled = [name for name, q in sim.qc_quantize_op_dict.items() if q.enabled]
    for name in enabled:
        key = name if group_fn is None else group_fn(name)
        if key is not None:
            groups.setdefault(key, []).append(name)
    if not groups:
        why = "no quantizer is enabled" if not enabled else "group_fn leaves out every quantizer"
        raise error(
            NotReadyError,
            "analyze_per_quantizer_sensitivity",
            f"there is nothing to analyse, as {why}",
            "enable quantizers, or return a key for some of them",
        )
    return groups


def get_quantizer_op_names(sim: QuantizationSimModel) -> dict[str, str]:
    """Operator that owns each quantizer.

    A parameter belongs to the first operator that it parameterises, another tensor to its producer, and a tensor
    without producer (graph input, constant) to the first operator that reads it.

    Parameters
    ----------
    sim : QuantizationSimModel

    Returns
    -------
    dict of str to str
        Quantizer name to node name.

    Examples
    --------
    >>> get_quantizer_op_names(sim)["conv1.weight"]  # doctest: +SKIP
    'conv1'
    """
    owners = _core.operator_of_tensor(sim.native)
    return {t: owners[t] for t in sim.qc_quantize_op_dict if t in owners}


def group_by_op_name(sim: QuantizationSimModel) -> Callable[[str], str | None]:
    """Group function for ``analyze_per_quantizer_sensitivity``: the quantizers of one operator together.

    Examples
    --------
    >>> scores = analyze_per_quantizer_sensitivity(sim, metric, group_by_op_name(sim))  # doctest: +SKIP
    """
    return get_quantizer_op_names(sim).get
