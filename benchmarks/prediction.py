"""How well the error of a whole configuration is predicted: as `bitsweep mix` does it, and by adding scores up.

    python benchmarks/prediction.py --models DIR [NAME ...]

Draws random configurations of equal cost: each group at the first or the second candidate, half of the bit operations
between them saved. Reports the rank correlation of predicted and measured output error: of added losses, of losses with
interactions, and of those corrected by a few measured configurations, which is what mix() goes on with. Measured on the
samples that the losses come from, and on test samples; the measured ones to correct with do not count.
"""

from __future__ import annotations

import argparse

import bench_models
import numpy as np
from agreement import spearman
from amp_sides import KeptRanges, decibel, group_bits, spread_rows, widths_of

import bitsweep
from bitsweep import _core


def configurations(saved: np.ndarray, count: int, tolerance: float = 0.02) -> list[list[int]]:
    """Random choices, 0 or 1 by group, that save half of everything, within a tolerance."""
    rng = np.random.default_rng(0)
    chosen = []
    for _ in range(200 * count):
        order = rng.permutation(len(saved))
        total = np.cumsum(saved[order])
        low = order[: int(np.searchsorted(total, saved.sum() / 2)) + 1]
        if abs(saved[low].sum() - saved.sum() / 2) > tolerance * saved.sum():
            continue
        choices = np.zeros(len(saved), int)
        choices[low] = 1
        chosen.append(choices.tolist())
        if len(chosen) == count:
            break
    return chosen


def chosen_bits(mix: _core.MixProblem, group: int, choice: int) -> dict[str, int]:
    chosen = mix.choices[group][choice]
    return group_bits(mix.groups[group], chosen.parameter.bitwidth, chosen.activation.bitwidth)


def saved_by_group(mix: _core.MixProblem) -> np.ndarray:
    """Bit operations that the second choice of each group saves, the others at their first."""
    none = [0] * len(mix.groups)
    one = [[*none[:g], len(of) - 1, *none[g + 1 :]] for g, of in enumerate(mix.choices)]
    whole, *without = (costs[0] for costs in mix.costs([none, *one]))
    return whole - np.array(without)


def report(model: bench_models.BenchModel, arguments: argparse.Namespace) -> None:
    candidates = arguments.candidates.split(",")
    samples, calibration = model.feeds("eval.npz"), model.feeds("calib.npz")
    rows = spread_rows(arguments.samples, len(samples))
    others = spread_rows(arguments.test_samples, set(range(len(samples))) - set(rows))
    search = [samples[i] for i in rows]
    calibration = [calibration[i] for i in spread_rows(arguments.calibration, len(calibration))]
    path = model.folder / "model.onnx"
    widths = widths_of(candidates)
    types = [_core.Candidate(_core.Format.integer(a), _core.Format.integer(w)) for w, a in widths]
    sim = bitsweep.QuantizationSimModel(path)
    mix = _core.mix_problem(sim.native, calibration, search, types)
    drawn = configurations(saved_by_group(mix), arguments.configurations + arguments.corrections)
    # Some groups have no second choice.
    drawn = [[min(c, len(of) - 1) for c, of in zip(x, mix.choices, strict=True)] for x in drawn]
    count = arguments.corrections
    if len(drawn) < count + 2:
        print(f"{model.name:<16} no two configurations of equal cost")
        return
    judge = KeptRanges(path, calibration, search + [samples[i] for i in others], widths)
    measured = []
    for choices in drawn:
        bits: dict[str, int] = {}
        for group, choice in enumerate(choices):
            bits |= chosen_bits(mix, group, choice)
        measured.append(judge.measure(bits, 0.0).rows)
    known = [rows[: len(search)] for rows in measured]
    without = [[decibel(np.delete(r, i, 0)) for i in range(len(r))] for r in known[:count]]
    corrected = mix.corrected(drawn[:count], [decibel(r) for r in known[:count]], without)
    rest = drawn[count:]
    predictions = (mix.losses(rest, additive=True), mix.losses(rest), corrected.losses(rest))
    print(f"{model.name:<16}{len(mix.groups):>7}{len(rest):>5}", end="")
    for part in (known[count:], [rows[len(search) :] for rows in measured[count:]]):
        truth = [decibel(r) for r in part]
        print(f"{min(truth):>8.1f}{max(truth):>7.1f}", end="")
        for losses in predictions:
            print(f"{spearman(-np.array(losses), np.array(truth)):>10.3f}", end="")
    print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    bench_models.add_arguments(parser)
    parser.add_argument("--samples", type=int, default=16, help="that losses are measured with")
    parser.add_argument("--test-samples", type=int, default=16)
    parser.add_argument("--candidates", default="W8A16,W8A8", help="two")
    parser.add_argument("--configurations", type=int, default=200)
    parser.add_argument("--corrections", type=int, default=16, help="measured to correct with")
    arguments = parser.parse_args()
    columns = f"{'dB':>15}{'additive':>10}{'pairwise':>10}{'corrected':>10}"
    print(f"{'model':<16}{'groups':>7}{'n':>5}{columns}   test{columns[7:]}")
    for model in bench_models.find(arguments):
        report(model, arguments)


if __name__ == "__main__":
    main()
