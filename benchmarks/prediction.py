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


def saved_by_group(sim: bitsweep.QuantizationSimModel, mix: _core.MixProblem) -> np.ndarray:
    """Bit operations that the second choice of each group saves, the others at their first."""

    def cost(lowered: int) -> float:
        for g, (group, choices) in enumerate(zip(mix.groups, mix.choices, strict=True)):
            choice = choices[1] if g == lowered and len(choices) > 1 else choices[0]
            bits = group_bits(group, choice.parameter.bitwidth, choice.activation.bitwidth)
            for name, width in bits.items():
                sim.qc_quantize_op_dict[name].set_bitwidth(width)
        return _core.present_costs(sim.native)[1]

    whole = cost(-1)
    return np.array([whole - cost(g) for g in range(len(mix.groups))])


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
    drawn = configurations(
        saved_by_group(sim, mix), arguments.configurations + arguments.corrections
    )
    count = arguments.corrections
    if len(drawn) < count + 2:
        print(f"{model.name:<16} no two configurations of equal cost")
        return
    judge = KeptRanges(path, calibration, search + [samples[i] for i in others], widths)
    measured = []
    for choices in drawn:
        bits: dict[str, int] = {}
        for group, by_choice, choice in zip(mix.groups, mix.choices, choices, strict=True):
            chosen = by_choice[min(choice, len(by_choice) - 1)]
            bits |= group_bits(group, chosen.parameter.bitwidth, chosen.activation.bitwidth)
        measured.append(judge.measure(bits, 0.0).rows)
    known = [rows[: len(search)] for rows in measured]
    without = [[decibel(np.delete(r, i, 0)) for i in range(len(r))] for r in known[:count]]
    drawn = [[min(c, len(of) - 1) for c, of in zip(x, mix.choices, strict=True)] for x in drawn]
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
