"""Evaluation functions that know what they compute, so that a sweep can do it natively.

They are plain callables ``session -> float``. A sweep that meets one hands its samples and its metric to the engine,
which shares the work between the states; the scores mean the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bitsweep import _core
from bitsweep.data import Feed, as_feeds
from bitsweep.errors import InvalidArgumentError, error

__all__ = ["Evaluator", "NativeMetric", "PsnrEvaluator", "TopkLogitPsnrEvaluator"]

# Two float runs of one model differ by the order of additions, 100 dB and more below the signal; another model does not
# come this close.
_SAME_MODEL_DB = 90.0


@dataclass(frozen=True)
class NativeMetric:
    """A metric of the native part with its options."""

    name: str
    outputs: list[int] = field(default_factory=list)
    k: int = 10
    max_db: float = 100.0


class Evaluator:
    """Compares a session with float outputs that were taken when the object was made.

    Attributes
    ----------
    feeds : list of dict
        The samples.
    native : NativeMetric
        What the engine must compute to give the same score.
    """

    feeds: list[dict[str, Any]]
    native: NativeMetric

    def __init__(self, native: NativeMetric, feeds: list[dict[str, Any]]) -> None:
        self.native = native
        self.feeds = feeds
        self._metric = self._make_metric()
        self._references: list[_core.MetricReference] = []
        self._first: list[np.ndarray] = []

    def __call__(self, session: Any) -> float:
        """Score of the session over all samples."""
        total = self._metric.fresh()
        for i, feed in enumerate(self.feeds):
            total.add(self._references[i], self._compared(i, session.run(None, feed)))
        return total.score()

    def runs_natively(self, sim: Any) -> bool:
        """Whether the engine gives the same scores: the float outputs are those of the simulation's model.

        Judged by the first sample.
        """
        outputs = self._compared(0, sim.native.run_float(self.feeds[0]))
        return len(outputs) == len(self._first) and all(
            a.shape == e.shape
            and _core.psnr_db(e, np.asarray(a, np.float32), 2 * _SAME_MODEL_DB) >= _SAME_MODEL_DB
            for a, e in zip(outputs, self._first, strict=True)
        )

    def _make_metric(self) -> _core.MetricAccumulator:
        return _core.make_metric("psnr", max_db=self.native.max_db)

    def _add_reference(self, compared: list[np.ndarray]) -> None:
        if not self._references:
            self._first = [np.asarray(a, np.float32) for a in compared]
        self._references.append(self._metric.prepare(compared))

    def _compared(self, sample: int, outputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        raise NotImplementedError


class PsnrEvaluator(Evaluator):
    """PSNR over all samples as if stacked, of the worst of the chosen outputs; see ``make_psnr_eval_fn``."""

    def __init__(self, fp_session: Any, inputs: Iterable[Feed], output_indices: list[int]) -> None:
        super().__init__(
            NativeMetric("psnr", outputs=output_indices), as_feeds(inputs, "make_psnr_eval_fn")
        )
        for i, feed in enumerate(self.feeds):
            self._add_reference(self._compared(i, fp_session.run(None, feed)))

    def _compared(self, sample: int, outputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [outputs[i] for i in self.native.outputs]


class TopkLogitPsnrEvaluator(Evaluator):
    """PSNR over the k largest float logits of each position; see ``make_topk_logit_psnr_metric``.

    Only the compared entries of the float outputs are kept.
    """

    def __init__(self, fp_session: Any, inputs: Iterable[Feed], k: int, output: int) -> None:
        super().__init__(
            NativeMetric("topk_logit_psnr", outputs=[output], k=k),
            as_feeds(inputs, "make_topk_logit_psnr_metric"),
        )
        self._picks: list[np.ndarray] = []
        self._has_ties = False
        for i, feed in enumerate(self.feeds):
            outputs = fp_session.run(None, feed)
            picks = _largest(outputs[output], k)
            self._picks.append(picks)
            self._has_ties = self._has_ties or _cuts_through_equals(outputs[output], picks)
            self._add_reference(self._compared(i, outputs))

    def runs_natively(self, sim: Any) -> bool:
        # Among equal logits the engine may take others than these.
        return not self._has_ties and super().runs_natively(sim)

    def _compared(self, sample: int, outputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        logits = np.asarray(outputs[self.native.outputs[0]], np.float32)
        picks = self._picks[sample]
        if logits.shape[:-1] != picks.shape[:-1]:
            raise error(
                InvalidArgumentError,
                "topk_logit_psnr",
                f"the logits of sample {sample} have shape {list(logits.shape)},"
                f" those of the float session {list(picks.shape[:-1])} and the vocabulary",
                "evaluate sessions of the same model",
            )
        return [np.take_along_axis(logits, picks, axis=-1)]


def _largest(logits: np.ndarray, k: int) -> np.ndarray:
    """Indices of the k largest entries along the last axis, in no special order."""
    values = np.asarray(logits, np.float32)
    k = min(k, values.shape[-1])
    return np.argpartition(values, -k, axis=-1)[..., -k:]


def _cuts_through_equals(logits: np.ndarray, picks: np.ndarray) -> bool:
    """Whether a float32 logit that was not picked equals one that was: which ones count is then a choice."""
    if logits.dtype != np.float32:
        return False  # 16-bit logits have ties all over, too close together to matter
    smallest = np.take_along_axis(logits, picks, axis=-1).min(axis=-1, keepdims=True)
    return bool(((logits >= smallest).sum(axis=-1) > picks.shape[-1]).any())
