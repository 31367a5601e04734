"""Evaluation functions that know what they compute, so that a sweep can do it natively.

They are plain callables ``session -> float``. A sweep that meets one hands its samples and its metric to the engine,
which shares the work between the states; the scores mean the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

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
        self._metric = _core.make_metric(native.name, k=native.k, max_db=native.max_db)
        self._references = [self._metric.prepare(self._outputs(fp_session, f)) for f in feeds]

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

    def _outputs(self, session: Any, feed: dict[str, Any]) -> list[Any]:
        outputs = session.run(None, feed)
        return [outputs[i] for i in self.native.outputs]


class PsnrEvaluator(Evaluator):
    """PSNR over all samples as if stacked, of the worst of the chosen outputs; see ``make_psnr_eval_fn``."""

    def __init__(self, fp_session: Any, inputs: Iterable[Feed], output_indices: list[int]) -> None:
        native = NativeMetric("psnr", outputs=output_indices)
        super().__init__(native, fp_session, as_feeds(inputs, "make_psnr_eval_fn"))


class TopkLogitPsnrEvaluator(Evaluator):
    """PSNR over the k largest float logits of each position; see ``make_topk_logit_psnr_metric``."""

    def __init__(self, fp_session: Any, inputs: Iterable[Feed], k: int, output: int) -> None:
        native = NativeMetric("topk_logit_psnr", outputs=[output], k=k)
        super().__init__(native, fp_session, as_feeds(inputs, "make_topk_logit_psnr_metric"))
