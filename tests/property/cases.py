"""Every small network, and a calibrated simulation of one with its samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
import small_networks
import typed_networks
from onnx import TensorProto

from bitsweep import _core
from bitsweep.quantsim import QuantizationSimModel
from bitsweep.sweeping import group_quantizers

BUILDERS: dict[str, Callable[[], small_networks.Network]] = {
    **small_networks.BUILDERS,
    **typed_networks.BUILDERS,
}

NUM_SAMPLES = 3
MEANINGFUL_BELOW_DB = 80.0
REUSE_TOLERANCE_DB = 1e-3
# Outputs carry the rounding noise of their type, half a unit in the last place of their range, whatever runs them.
# Beside the noise of a quantizer that scores 75 dB this moves the score by 0.003 dB: three orders of the same additions
# (with reuse, without, stock operators) differ by that much from one another.
FLOAT_NOISE = 2.0**-24
HALF_NOISE = 2.0**-11


def tolerance_db(score: float, noise: float = FLOAT_NOISE) -> float:
    """Largest effect of rounding noise on a score, at least REUSE_TOLERANCE_DB."""
    return max(REUSE_TOLERANCE_DB, 20.0 * np.log10(1.0 + noise * 10.0 ** (score / 20.0)))


def scores(result: _core.SweepResult) -> dict[str, float]:
    return {score.name: score.score for score in result.scores}


def differences(
    one: dict[str, float], other: dict[str, float], noise: float = FLOAT_NOISE
) -> dict[str, float]:
    """Score difference of every quantizer that does visible harm, in units of what is allowed."""
    assert one.keys() == other.keys()
    result = {
        name: abs(one[name] - other[name]) / tolerance_db(other[name], noise)
        for name in one
        if other[name] < MEANINGFUL_BELOW_DB
    }
    assert result, "no quantizer of this network does any harm: the test proves nothing"
    return result


@dataclass
class Case:
    model: onnx.ModelProto
    feeds: list
    sim: QuantizationSimModel

    @classmethod
    def of(cls, network: small_networks.Network) -> Case:
        sim = QuantizationSimModel(network.model)
        sim.compute_encodings(network.feeds(4, seed=2))
        return cls(network.model, network.feeds(NUM_SAMPLES, seed=1), sim)

    def groups(self, kind: str = "quantizer") -> list[_core.SweepGroup]:
        """`function`: the user's own, here of two quantizers whose names end alike."""
        group = (lambda name: name[-1]) if kind == "function" else kind
        return group_quantizers(self.sim, group)

    def sweep(
        self, groups: list[_core.SweepGroup] | None = None, **options: object
    ) -> _core.SweepResult:
        metrics = [_core.MetricChoice("psnr"), _core.MetricChoice("sqnr")]
        return _core.sweep(self.sim.native, self.feeds, groups or self.groups(), metrics, **options)

    def assert_equal_up_to_float_noise(
        self, result: _core.SweepResult, expected: _core.SweepResult
    ) -> None:
        """Scores where they mean something, and the ranking of those."""
        got, want = scores(result), scores(expected)
        halves = self.model.graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT16
        noise = HALF_NOISE if halves else FLOAT_NOISE
        excess = differences(got, want, noise)
        worst = max(excess, key=excess.__getitem__)
        assert excess[worst] <= 1.0, f"{worst}: {got[worst]} dB instead of {want[worst]} dB"
        ranking = [name for name in got if name in excess]
        wanted = [name for name in want if name in excess]
        for name, other in zip(ranking, wanted, strict=True):
            # Scores that are equal in all but float noise may change places.
            allowed = tolerance_db(want[name], noise)
            assert abs(want[name] - want[other]) <= allowed, f"{name}, not {other}"
