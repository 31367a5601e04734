"""How well the error of a whole configuration is predicted: as `bitsweep mix` does it, and by adding scores up.

    python benchmarks/prediction.py --models DIR [NAME ...]

Draws random configurations of equal cost: each group at the first or the second candidate, by chance; of many draws those
are taken that lie within 2% of the bit operations that most of them have. Reports the rank correlation of predicted and
measured output error: of added losses, of losses with interactions (the Gram matrix that a sweep's `predict` uses, as far
as samples agree), and of those corrected by a few measured configurations, which is what mix() goes on with. Measured on
the samples that the losses come from, each with the same say, as in mix(); `--plain` adds their errors up instead, so that
one sample may decide. The measured ones to correct with are drawn anew several times, and means are printed: they do not
count, nor do those whose outputs are not finite. The quality is that of all samples together.
"""

from __future__ import annotations

import argparse

import bench_models
import numpy as np
from agreement import spearman
from amp_sides import KeptRanges, decibel, group_bits, spread_rows, widths_of

import bitsweep
from bitsweep import _core


def configurations(mix: _core.MixProblem, count: int, tolerance: float = 0.02) -> list[list[int]]:
    """Different random choices, 0 or 1 by group, of nearly the same cost."""
    rng = np.random.default_rng(0)
    last = np.array([len(choices) - 1 for choices in mix.choices])
    drawn = np.minimum(rng.integers(2, size=(20 * count, len(last))), last)
    drawn = np.unique(drawn, axis=0)
    rng.shuffle(drawn)
    costs = np.array([c[0] for c in mix.costs(drawn.tolist())])
    order = np.argsort(costs, kind="stable")
    ends = np.searchsorted(costs[order], costs[order] * (1 + tolerance), side="right")
    start = int(np.argmax(ends - np.arange(len(order))))
    return [drawn[i].tolist() for i in sorted(order[start : ends[start]])[:count]]


def chosen_bits(mix: _core.MixProblem, group: int, choice: int) -> dict[str, int]:
    chosen = mix.choices[group][choice]
    return group_bits(mix.groups[group], chosen.parameter.bitwidth, chosen.activation.bitwidth)


def even_weights(measured: list[np.ndarray]) -> np.ndarray:
    """By sample, so that each has the same say: one over the geometric mean of its errors."""
    signal = measured[0][..., 0].sum(axis=0)
    noise = np.array([(rows[..., 1] / signal).sum(axis=1) for rows in measured])
    return np.exp(-np.log(noise + 1e-30).mean(axis=0))


def report(model: bench_models.BenchModel, arguments: argparse.Namespace) -> None:
    candidates = arguments.candidates.split(",")
    samples, calibration = model.feeds("eval.npz"), model.feeds("calib.npz")
    search = [samples[i] for i in spread_rows(arguments.samples, len(samples))]
    calibration = [calibration[i] for i in spread_rows(arguments.calibration, len(calibration))]
    path = model.folder / "model.onnx"
    widths = widths_of(candidates)
    types = [_core.Candidate(_core.Format.integer(a), _core.Format.integer(w)) for w, a in widths]
    sim = bitsweep.QuantizationSimModel(path)
    mix = _core.mix_problem(sim.native, calibration, search, types)
    drawn = configurations(mix, arguments.configurations + arguments.corrections)
    judge = KeptRanges(path, calibration, search, widths)
    measured, finite = [], []
    for choices in drawn:
        bits: dict[str, int] = {}
        for group, choice in enumerate(choices):
            bits |= chosen_bits(mix, group, choice)
        rows = judge.measure(bits, 0.0).rows
        if np.isfinite(rows).all():
            measured.append(rows)
            finite.append(choices)
    plain_quality = [decibel(rows) for rows in measured]
    weights = np.ones(len(search)) if arguments.plain else even_weights(measured)
    measured = [rows * weights[:, None, None] for rows in measured]
    quality = np.array([decibel(rows) for rows in measured])
    without = [[decibel(np.delete(r, i, 0)) for i in range(len(r))] for r in measured]
    rng = np.random.default_rng(0)
    correlations = []
    for _ in range(arguments.draws):
        order = rng.permutation(len(finite))
        known, rest = order[: arguments.corrections], order[arguments.corrections :]
        corrected = mix.corrected(
            [finite[i] for i in known],
            quality[known].tolist(),
            [without[i] for i in known],
        )
        asked = [finite[i] for i in rest]
        predicted = mix.losses(asked, additive=True), mix.losses(asked), corrected.losses(asked)
        correlations.append([spearman(-np.array(p), quality[rest]) for p in predicted])
    print(
        f"{model.name:<16}{len(mix.groups):>7}{len(rest):>5}{min(plain_quality):>8.1f}{max(plain_quality):>7.1f}"
        + "".join(f"{c:>10.3f}" for c in np.mean(correlations, axis=0)),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    bench_models.add_arguments(parser)
    parser.add_argument("--samples", type=int, default=16, help="that losses are measured with")
    parser.add_argument("--candidates", default="W8A16,W8A8", help="two")
    parser.add_argument("--configurations", type=int, default=200)
    parser.add_argument("--corrections", type=int, default=16, help="measured to correct with")
    parser.add_argument("--draws", type=int, default=30, help="of the measured ones")
    parser.add_argument("--plain", action="store_true", help="add the samples' errors up")
    arguments = parser.parse_args()
    columns = f"{'dB':>15}{'additive':>10}{'pairwise':>10}{'corrected':>10}"
    print(f"{'model':<16}{'groups':>7}{'n':>5}{columns}")
    for model in bench_models.find(arguments):
        report(model, arguments)


if __name__ == "__main__":
    main()
