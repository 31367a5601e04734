"""Evaluation functions that know what they compute, so that a sweep can do it natively.

They are plain callables ``session -> float``. A sweep that meets one hands its samples and its metric to the engine,
which shares the work between the states; the scores mean the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bitsweep import _core
from bitsweep.data import Feed, as_feeds
from bitsweep.errors import InvalidDataError

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

    Only what the metric needs of the float outputs is kept.

    Attributes
    ----------
    feeds : list of dict
        The samples.
    native : NativeMetric
        What the engine must compute to give the same score.
    """

    feeds: list[dict[str, Any]]
    native: NativeMetric

    def __init__(self, native: NativeMetric, fp_session: Any, feeds: list[dict[str, Any]]) -> None:
        self.native = native
        self.feeds = feeds
        self._float_outputs = hashlib.sha256()
        self._metric = _core.make_metric(native.name, k=native.k, max_db=native.max_db)
        self._references = [self._prepare(self._outputs(fp_session, f)) for f in feeds]

    def __call__(self, session: Any) -> float:
        """Score of the session over all samples."""
        total = self._metric.fresh()
        for reference, feed in zip(self._references, self.feeds, strict=True):
            total.add(reference, self._outputs(session, feed))
        return total.score()

    def runs_natively(self, sim: Any) -> bool:
        """Whether the engine gives the same scores: the float outputs are those of the simulation's model.

        Judged by the first sample.
        """
        outputs = sim.native.run_float(self.feeds[0])
        total = self._metric.fresh()
        try:
            total.add(self._references[0], [outputs[i] for i in self.native.outputs])
        except (InvalidDataError, IndexError):
            return False  # other outputs or shapes: another model
        return total.score() >= _SAME_MODEL_DB

    def content(self) -> tuple[Any, ...]:
        """All that decides the scores."""
        return type(self), self.native, self.feeds, self._float_outputs.hexdigest()

    def _prepare(self, outputs: list[Any]) -> Any:
        for output in outputs:
            self._float_outputs.update(np.ascontiguousarray(output).tobytes())
        return self._metric.prepare(outputs)

    def _outputs(self, session: Any, feed: dict[str, Any]) -> list[Any]:
        outputs = session.run(None, feed)
        return [outputs[i] for i in self.native.outputs]


class PsnrEvaluator(Evaluator):
    """PSNR over all samples as if stacked, of the worst of the chosen outputs; see ``make_psnr_eval_fn``."""

    def __init__(self, fp_session: Any, inputs: Iterable[Feed], output_indices: list[int]) -> None:
        native = NativeMetric("psnr", outputs=output_indices)
        super().__init__(native, fp_session, as_feeds(inputs, "make_psnr_eval_fn"))


class TopkLogitPsnrEvaluator(Evaluator):
    """PSNR over the k largest float logits of each position; see ``make_topk_logit_psnr_metric``.

    Which of several equal logits belong to the k largest is a choice. Scripts of users made it with numpy's partial
    selection, and so does this class; the engine takes the first ones. Where float logits are equal, the samples
    therefore go through the session.
    """

    def __init__(self, fp_session: Any, inputs: Iterable[Feed], k: int, output: int) -> None:
        native = NativeMetric("topk_logit_psnr", outputs=[output], k=k)
        self._psnr = _core.make_metric("psnr", max_db=native.max_db)
        self._picks: list[np.ndarray] = []
        self._chosen: list[Any] = []  # prepared float logits at the picks
        self._has_ties = False
        super().__init__(native, fp_session, as_feeds(inputs, "make_topk_logit_psnr_metric"))

    def __call__(self, session: Any) -> float:
        """Score of the session over all samples."""
        if not self._has_ties:
            return super().__call__(session)
        total = self._psnr.fresh()
        for chosen, picks, feed in zip(self._chosen, self._picks, self.feeds, strict=True):
            total.add(chosen, [_at(self._outputs(session, feed)[0], picks)])
        return float(total.score())

    def runs_natively(self, sim: Any) -> bool:
        """Whether the engine gives the same scores."""
        return not self._has_ties and super().runs_natively(sim)

    def _prepare(self, outputs: list[Any]) -> Any:
        prepared = super()._prepare(outputs)  # refuses what is not finite
        logits = np.asarray(outputs[0])
        k = min(self.native.k, logits.shape[-1])
        picks = np.argpartition(logits.astype(np.float32), -k, axis=-1)[..., -k:]
        self._picks.append(picks)
        self._chosen.append(self._psnr.prepare([_at(logits, picks)]))
        self._has_ties = self._has_ties or _cuts_through_equals(logits, picks)
        return prepared


def _at(logits: Any, picks: np.ndarray) -> np.ndarray:
    values = np.asarray(logits, np.float32)
    return np.ascontiguousarray(np.take_along_axis(values, picks, axis=-1).reshape(-1))


def _cuts_through_equals(logits: np.ndarray, picks: np.ndarray) -> bool:
    """Whether a float32 logit that was not picked equals one that was."""
    if logits.dtype != np.float32:
        return False  # 16-bit logits have ties all over, too close together to matter
    smallest = np.take_along_axis(logits, picks, axis=-1).min(axis=-1, keepdims=True)
    return bool(((logits >= smallest).sum(axis=-1) > picks.shape[-1]).any())
