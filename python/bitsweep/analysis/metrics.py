"""A named evaluation function with the direction in which it is bad."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from bitsweep._evaluators import TopkLogitPsnrEvaluator
from bitsweep.data import Feed
from bitsweep.errors import InvalidArgumentError, error

__all__ = ["SensitivityMetric", "make_topk_logit_psnr_metric"]


@dataclass
class SensitivityMetric:
    """A named evaluation function with ranking semantics.

    Parameters
    ----------
    name : str
        Shown in logs and pages.
    eval_fn : callable
        ``session -> float``: gets ``sim.session`` and returns a score.
    higher_is_worse : bool
        True when a larger score means more damage (perplexity, KL divergence), False for PSNR or accuracy.
    identity : str, optional
        Stands for function and data in a run directory: scores are kept under it and found again by it, so change it
        whenever one of them changes ("accuracy 2, validation set of May"). Default: a hash of all that can be seen from
        `eval_fn`: code, default arguments, enclosed and global variables, arrays, models, and the functions it calls.
        Give it when the function reads files or a network, which cannot be seen, or holds something that cannot be read.

    Raises
    ------
    ValueError
        When `eval_fn` cannot be called.

    Examples
    --------
    >>> from bitsweep.analysis import SensitivityMetric
    >>> metric = SensitivityMetric("accuracy", lambda session: 0.75, higher_is_worse=False)
    >>> metric(None), metric.sensitivity_score(0.75)
    (0.75, -0.75)
    """

    name: str
    eval_fn: Callable[[Any], Any]
    higher_is_worse: bool = True
    identity: str | None = None

    def __post_init__(self) -> None:
        if not callable(self.eval_fn):
            raise error(
                InvalidArgumentError,
                "SensitivityMetric",
                f'eval_fn of "{self.name}" is a {type(self.eval_fn).__name__}, which cannot be called',
                "pass a function that takes a session and returns a number",
            )

    def __call__(self, session: Any) -> Any:
        """Score of a session."""
        return self.eval_fn(session)

    def sensitivity_score(self, score: float) -> float:
        """The score, turned so that larger always means more sensitive."""
        return score if self.higher_is_worse else -score


def make_topk_logit_psnr_metric(
    fp_session: Any, inputs: Iterable[Feed], k: int = 10, logit_output_index: int = 0
) -> SensitivityMetric:
    """PSNR over the `k` largest float logits of each position, for language models.

    The float logits are taken at once. All samples count as one array, so they may differ in length.

    Parameters
    ----------
    fp_session : InferenceSession
        Session of the float model.
    inputs : iterable of dict of str to ndarray
        Samples; a generator is consumed once.
    k : int
        Entries of the vocabulary per position; at most all.
    logit_output_index : int
        Output with the logits, of shape (..., vocabulary).

    Returns
    -------
    SensitivityMetric
        Named ``Top{k}LogitPSNR``, in dB, higher is better. A sweep recognises it and computes it natively.

    Raises
    ------
    ValueError
        Without samples, for k < 1 or an index out of range.

    Examples
    --------
    >>> metric = make_topk_logit_psnr_metric(fp_session, prompts, k=10)  # doctest: +SKIP
    """
    count = len(fp_session.get_outputs())
    if not -count <= logit_output_index < count:
        raise error(
            InvalidArgumentError,
            "make_topk_logit_psnr_metric",
            f"there is no output {logit_output_index}, as the model has {count}",
            f"use an index from 0 to {count - 1}",
        )
    if k < 1:
        raise error(
            InvalidArgumentError,
            "make_topk_logit_psnr_metric",
            f"k is {k}",
            "compare at least one entry per position",
        )
    evaluator = TopkLogitPsnrEvaluator(fp_session, inputs, k, logit_output_index % count)
    return SensitivityMetric(f"Top{k}LogitPSNR", evaluator, higher_is_worse=False)
