"""Whether `until="stable"` finds the most sensitive tenth of the whole sweep, and with how much of its work.

python benchmarks/adaptive.py --models DIR [NAME ...]
"""

from __future__ import annotations

import argparse

import bench_models

import bitsweep


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    bench_models.add_arguments(parser)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--metric", default="sqnr")
    parser.add_argument("--top", type=float, default=0.1)
    arguments = parser.parse_args()
    print(
        f"{'model':<16}{'groups':>7}{'samples':>8}{'top':>5}{'common':>7}{'work':>7}{'passes':>8}  settled"
    )
    for model in bench_models.find(arguments):
        sim = model.simulation(arguments.calibration)
        feeds = model.feeds("eval.npz", arguments.samples)
        whole = bitsweep.sweep(sim, feeds, metric=arguments.metric, progress=False)
        part = bitsweep.sweep(
            sim, feeds, metric=arguments.metric, until="stable", top=arguments.top, progress=False
        )
        stability = part.stability
        top = {s.name for s in whole.scores[: len(stability.selected)]}
        # Evaluations differ in cost: forward equivalents count what was computed, per sample.
        work = stability.num_evaluations / whole.num_evaluations
        passes = (part.forward_equivalents * part.num_samples) / (
            whole.forward_equivalents * whole.num_samples
        )
        print(
            f"{model.name:<16}{len(whole.scores):>7}{whole.num_samples:>8}{len(top):>5}"
            f"{len(top & set(stability.selected)):>7}{work:>7.2f}{passes:>8.2f}  "
            f"{'yes' if stability.settled else 'no'} ({stability.confidence:.3f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
