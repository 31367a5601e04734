"""Is every configuration of a mixed-precision curve exported as it was simulated?

    python benchmarks/frontier_exports.py --models DIR [NAME ...] [--candidates W8A8 W8A16] [--points 6]

Computes the curve of each model, chooses again at the cost of each of its points (runs are kept, so this costs little),
writes the choice as a QDQ model and lets `verify` load it with every level of optimizations and compare it with the
simulation. Prints a row per configuration and fails when one of them does not pass.
"""

from __future__ import annotations

import argparse
import tempfile

from bench_models import BenchModel, add_arguments, find
from export_models import steps

import bitsweep


def check(bench: BenchModel, args: argparse.Namespace, runs: str) -> bool:
    sim = bitsweep.QuantizationSimModel(str(bench.folder / "model.onnx"))
    search = bench.feeds("eval.npz", args.search)
    judge = bench.feeds("eval.npz", args.samples)
    calibration = bench.feeds("calib.npz", args.calibration)
    settings = {"calibration": calibration, "run_directory": runs}
    curve = bitsweep.mix(
        sim, search, args.candidates, frontier_points=args.points, **settings
    ).frontier
    passed = True
    for cost in (point.costs[0] for point in curve):
        mix = bitsweep.mix(
            sim, search, args.candidates, f"bops<={cost}", frontier_points=0, **settings
        )
        result = sim.verify(sim.to_onnx_qdq(), judge, latency_runs=0)
        plain = steps(result, "plain simulation", "qdq")
        levels = sum(check.loads for check in result.loads)
        print(
            f"{bench.name:14} {mix.chosen.costs[0]:6.4f} {mix.chosen.measured_db:8.2f} "
            f"{levels}/{len(result.loads)} {plain:6g} {'passed' if result.passed else 'FAILED'}",
            flush=True,
        )
        passed = passed and result.passed
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    parser.add_argument("--candidates", nargs="+", default=["W8A8", "W8A16"])
    parser.add_argument("--points", type=int, default=6, help="of each curve")
    parser.add_argument("--search", type=int, default=4, help="samples of the search")
    parser.add_argument("--samples", type=int, default=16, help="samples of the check")
    args = parser.parse_args()
    print(f"{'model':14} {'bops':>6} {'sqnr dB':>8} loads steps")
    passed = True
    for bench in find(args):
        with tempfile.TemporaryDirectory() as runs:
            passed = check(bench, args, runs) and passed
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
