"""How well the error of a whole configuration is predicted: with the interactions of errors, and by adding scores up.

    python benchmarks/prediction.py --models DIR [NAME ...]

Draws random configurations of equal cost: each weight and activation at the low precision or left in float (which stands
for 16 bits), about half of the multiply-accumulates low. Reports the rank correlation of predicted and measured output
error, for 8 bits everywhere and for 6-bit weights. The corrected prediction takes the share of the interactions that fits a few
measured configurations best, as `bitsweep mix` does; the correlations are those of the others.
"""

from __future__ import annotations

import argparse

import bench_models
import numpy as np
from agreement import spearman

import bitsweep
from bitsweep import _core

# Low precision of weights and activations by experiment.
PRECISIONS = {"W8A8": ("int8", "int8"), "W6A8": (6, "int8")}


def configurations(
    costs: np.ndarray, count: int, rng: np.random.Generator, tolerance: float = 0.02
) -> list[np.ndarray]:
    """Random selections whose cost is half of the whole, within a tolerance."""
    wanted = costs.sum() / 2
    chosen = []
    for _ in range(200 * count):
        order = rng.permutation(len(costs))
        total = np.cumsum(costs[order])
        selection = order[: int(np.searchsorted(total, wanted)) + 1]
        if abs(costs[selection].sum() - wanted) <= tolerance * costs.sum():
            chosen.append(np.sort(selection))
            if len(chosen) == count:
                break
    return chosen


def corrected(
    predicted: np.ndarray, additive: np.ndarray, truth: np.ndarray, count: int
) -> tuple[np.ndarray, float]:
    """Scores in dB with the share of the interactions that explains the first `count` of them best, and the share."""
    whole, alone, real = (10 ** (-db / 10) for db in (predicted, additive, truth))
    interaction = (whole - alone)[:count] / real[:count]
    rest = (real - alone)[:count] / real[:count]
    energy = float(interaction @ interaction)
    share = min(1.0, max(0.0, float(interaction @ rest) / energy)) if energy > 0 else 1.0
    return -10 * np.log10(np.maximum(alone + share * (whole - alone), 1e-30)), share


def measured(sim, feeds, groups: list[list[str]]) -> list[float]:
    """Score of each configuration, in dB, from one sweep in which each is a group."""
    named = [_core.SweepGroup(str(i), tensors) for i, tensors in enumerate(groups)]
    result = _core.sweep(sim.native, feeds, named, [_core.MetricChoice("sqnr")])
    scores = {s.name: s.score for s in result.scores}
    return [scores[str(i)] for i in range(len(groups))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    bench_models.add_arguments(parser)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--configurations", type=int, default=200)
    parser.add_argument("--corrections", type=int, default=16, help="measured to correct with")
    arguments = parser.parse_args()
    print(
        f"{'model':<16}{'bits':>6}{'groups':>7}{'n':>5}{'dB':>14}{'pairwise':>11}{'corrected':>11}{'share':>7}{'additive':>10}"
    )
    for model in bench_models.find(arguments):
        feeds = model.feeds("eval.npz", arguments.samples)
        for bits, (param_type, activation_type) in PRECISIONS.items():
            sim = model.simulation(
                arguments.calibration, param_type="int8", activation_type=activation_type
            )
            if param_type != "int8":
                for name in sim.native.parameter_names():
                    sim.qc_quantize_op_dict[name].set_bitwidth(param_type)
                sim.compute_encodings(model.feeds("calib.npz", arguments.calibration))
            # One group per operator: its weights and its output change precision together.
            groups = bitsweep.sweeping.group_quantizers(sim, "op")
            result = bitsweep.sweep(sim, feeds, group="op", interactions=True, progress=False)
            macs = {op.name: op.macs for op in sim.native.operators()}
            costs = np.array([max(1.0, macs.get(g.name, 0)) for g in groups])
            count = arguments.corrections
            drawn = configurations(
                costs, arguments.configurations + count, np.random.default_rng(0)
            )
            if len(drawn) < count + 2:
                print(
                    f"{model.name:<16}{bits:>6}{len(groups):>7}  no two configurations of equal cost"
                )
                continue
            names = [[groups[i].name for i in selection] for selection in drawn]
            tensors = [[t for i in selection for t in groups[i].tensors] for selection in drawn]
            truth = np.array(measured(sim, feeds, tensors))
            predicted = np.array([result.interactions.predict(n) for n in names])
            additive = np.array([result.interactions.predict_additive(n) for n in names])
            better, share = corrected(predicted, additive, truth, count)
            ranks = [spearman(p[count:], truth[count:]) for p in (predicted, better, additive)]
            print(
                f"{model.name:<16}{bits:>6}{len(groups):>7}{len(drawn) - count:>5}"
                f"{truth.min():>7.1f}{truth.max():>7.1f}"
                f"{ranks[0]:>11.3f}{ranks[1]:>11.3f}{share:>7.2f}{ranks[2]:>10.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
