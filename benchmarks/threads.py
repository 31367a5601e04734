#!/usr/bin/env python3
"""Are worker threads with a state each faster than all threads inside one run?

    threads.py --models DIR [NAME ...] [--samples N] [--repeats N] [--groups N]

Warm sweeps of both kinds alternate in one process. The ratio of each pair is taken by the clock, since idle threads are
what differs, and the median printed with the lowest and highest; `measured` is what the sweep itself would choose.
"""

from __future__ import annotations

import argparse
import os
import statistics

import bench_models

from bitsweep import QuantizationSimModel
from bitsweep.sweeping import group_quantizers, sweep


def seconds_of(
    sim: QuantizationSimModel, feeds: bench_models.Feeds, names: set[str], use: str
) -> float:
    result = sweep(
        sim,
        feeds,
        group=lambda name: name if name in names else None,
        thread_use=use,
        progress=False,
    )
    return result.elapsed_s


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    bench_models.add_arguments(parser)
    parser.add_argument("--samples", type=int, default=4, help="(default: 4)")
    parser.add_argument("--repeats", type=int, default=5, help="pairs of sweeps (default: 5)")
    parser.add_argument("--groups", type=int, default=0, help="quantizers to sweep (default: all)")
    args = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}")
    print(f"{'model':<14}{'states s':>9}{'runs s':>9}{'runs / states':>14}{'range':>14}  measured")
    for model in bench_models.find(args):
        # One each: a simulation keeps the plan of its last sweep.
        sims = {use: model.simulation(2) for use in ("states", "runs")}
        sim = sims["states"]
        feeds = model.feeds("eval.npz", args.samples)
        every = [group.name for group in group_quantizers(sim)]
        names = set(every[:: max(1, len(every) // args.groups)] if args.groups else every)
        pairs = []
        for repeat in range(args.repeats + 1):
            order = ["states", "runs"] if repeat % 2 == 0 else ["runs", "states"]
            pairs.append({use: seconds_of(sims[use], feeds, names, use) for use in order})
        pairs = pairs[1:]  # the first ones make the sessions
        ratios = sorted(pair["runs"] / pair["states"] for pair in pairs)
        seconds = {use: statistics.median(pair[use] for pair in pairs) for use in pairs[0]}
        choice = sweep(sim, feeds[:1], thread_use="measured", progress=False).notes[0]
        print(
            f"{model.name:<14}{seconds['states']:>9.2f}{seconds['runs']:>9.2f}"
            f"{statistics.median(ratios):>14.2f}{ratios[0]:>8.2f} to {ratios[-1]:.2f}  {choice}",
            flush=True,
        )


if __name__ == "__main__":
    main()
