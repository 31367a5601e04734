"""Mixed precision side by side: quality at equal cost, and CPU time, of the reference's search and of bitsweep's.

    compare_amp.py --models DIR --peer-python PYTHON [NAME ...] [--candidates W8A16,W8A8] [--answers DIR]

Both get the same model, calibration and search samples, groups and candidates, and one thread. The reference runs its
brute-force search without a limit (its whole curve), and its default search for one quality. All configurations are then
set in one and the same simulation, calibrated, and measured on test samples that no search saw; costs count every
product. Printed for each cost of the reference's curve: the best quality that each side has at no higher cost, chosen by
what that side measured itself (bitsweep's curve is asked for these costs), with a paired bootstrap interval over the test samples; how much cheaper bitsweep
reaches the reference's quality; then the area under both curves and the CPU times (`--repeats`: the median of several). Samples are taken at equal
distances from the files. `--answers` keeps the reference's answers, so that a second run only repeats bitsweep's side.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import bench_models
import numpy as np
from amp_sides import (
    Judge,
    Point,
    Reference,
    best_within,
    bits_of,
    decibel,
    prepared,
    spread_rows,
    widths_of,
)

import bitsweep
from bitsweep import _core

DRAWS = 1000
# The reference recalibrates and measures hundreds of points; these many are enough to see the curve.
MAX_POINTS = 24


def interval(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """95% of the difference in dB, by drawing samples with replacement, the same for both."""
    rng = np.random.default_rng(0)
    draws = rng.integers(len(ours), size=(DRAWS, len(ours)))
    differences = [decibel(ours[d]) - decibel(theirs[d]) for d in draws]
    low, high = np.percentile(differences, [2.5, 97.5])
    return float(low), float(high)


def area(points: list[Point], low: float, high: float, floor_db: float) -> float:
    """Mean of the quality above `floor_db` over all costs between the two, in dB."""
    found = [best_within(points, c) for c in np.linspace(low, high, 400)]
    return float(np.mean([max(0.0, p.db - floor_db) if p else 0.0 for p in found]))


def saved_at_equal_quality(ours: list[Point], theirs: list[Point]) -> list[float]:
    """By point of the reference's curve that none of its own beats: the share of its cost that bitsweep does without."""
    saved = []
    for p in theirs:
        if any(q.db >= p.db and q.cost < p.cost for q in theirs):
            continue
        cheapest = min((q.cost for q in ours if q.db >= p.db), default=None)
        saved.append(-1.0 if cheapest is None else 1.0 - cheapest / p.cost)
    return saved


def print_comparison(ours: list[Point], theirs: list[Point]) -> None:
    print("   gbops   reference    bitsweep  difference (95%)")
    differences = []
    worse = better = 0
    for cost in sorted({p.cost for p in theirs}):
        best, other = best_within(ours, cost), best_within(theirs, cost)
        if best is None or other is None:
            continue
        low, high = interval(best.rows, other.rows)
        differences.append(best.db - other.db)
        worse += high < 0
        better += low > 0
        print(f"{cost:8.4f} {other.db:8.2f} dB {best.db:8.2f} dB {differences[-1]:+8.2f} ({low:+.2f} to {high:+.2f})")  # fmt: skip
    print(f"median {np.median(differences):+.2f} dB over {len(differences)} costs; beyond the interval better at"
          f" {better}, worse at {worse}")  # fmt: skip
    saved = saved_at_equal_quality(ours, theirs)
    print(f"cost at equal quality: {100 * np.median(saved):.0f}% less (median of {len(saved)} points; not reached at"
          f" {sum(s == -1.0 for s in saved)})")  # fmt: skip
    low = max(min(p.cost for p in ours), min(p.cost for p in theirs))
    high = max(p.cost for p in theirs)
    floor_db = min(p.db for p in [*ours, *theirs])
    print(f"area under the curve above {floor_db:.2f} dB: reference {area(theirs, low, high, floor_db):.3f} dB,"
          f" bitsweep {area(ours, low, high, floor_db):.3f} dB")  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """What both sides are given."""

    path: Path
    candidates: list[str]
    calibration: list
    search: list
    test: list
    reference: Reference

    def mix(
        self, targets: str | list[str], points: int, costs: Sequence[float] = ()
    ) -> tuple[_core.MixResult, float]:
        """bitsweep's answer, with CPU seconds; the curve also meets these costs."""
        sim = bitsweep.QuantizationSimModel(
            self.path, session_options_kwargs={"intra_op_num_threads": 1}
        )
        begin = time.process_time()
        result = bitsweep.mix(sim, self.search, self.candidates, targets, calibration=self.calibration,
                              cost="gbops", frontier_points=points, frontier_costs=costs, num_threads=1)  # fmt: skip
        return result, time.process_time() - begin


def setting_of(model: bench_models.BenchModel, arguments: argparse.Namespace) -> Setting:
    candidates = arguments.candidates.split(",")
    samples, calibration = model.feeds("eval.npz"), model.feeds("calib.npz")
    search_rows = spread_rows(arguments.samples, len(samples))
    test_rows = spread_rows(arguments.test_samples, set(range(len(samples))) - set(search_rows))
    calibration_rows = spread_rows(arguments.calibration, len(calibration))
    path = prepared(model, samples[0], arguments.answers)
    question = {
        "model": str(path),
        "search": str(model.folder / "eval.npz"),
        "search_rows": search_rows,
        "calibration": str(model.folder / "calib.npz"),
        "calibration_rows": calibration_rows,
        "candidates": widths_of(candidates),
    }
    return Setting(
        path,
        candidates,
        [calibration[i] for i in calibration_rows],
        [samples[i] for i in search_rows],
        [samples[i] for i in test_rows],
        Reference(arguments.peer_python, arguments.answers, model.name, question),
    )


def compare_curves(setting: Setting, peer: dict, points: int) -> None:
    judge = Judge(setting.path, setting.calibration, setting.test)
    wanted = set(np.linspace(0, len(peer["changes"]) - 1, MAX_POINTS).astype(int).tolist())
    theirs = judge.points_of_reference(peer, wanted)
    result, seconds = setting.mix([], points, sorted({p.cost for p in theirs}))
    ours = [judge.measure(bits_of(result, p), p.expected_db) for p in result.frontier]
    print_comparison(ours, theirs)
    print(f"CPU time, whole curve: reference {peer['seconds']:.1f} s, bitsweep {seconds:.1f} s,"
          f" ratio {peer['seconds'] / seconds:.1f}", flush=True)  # fmt: skip


def compare_quality(setting: Setting, quality: float, repeats: int) -> None:
    """In turns, and who goes first changes, too."""
    theirs, ours = [], []

    def ask(repeat: int) -> dict:
        answer = setting.reference.ask(quality, repeat)
        theirs.append(answer["seconds"])
        return answer

    for repeat in range(repeats):
        if repeat % 2 == 0:
            answer = ask(repeat)
        result, seconds = setting.mix(f"sqnr>={quality}", 0)
        ours.append(seconds)
        if repeat % 2 != 0:
            answer = ask(repeat)
    reached = result.chosen.measured_db if result.chosen else float("nan")
    print(f"CPU time to reach {quality:.2f} dB, {repeats} times: reference {span_text(theirs)} ({answer['score']:.2f} dB), bitsweep"
          f" {span_text(ours)} ({reached:.2f} dB), ratio {np.median(theirs) / np.median(ours):.1f}", flush=True)  # fmt: skip


def span_text(seconds: list[float]) -> str:
    return f"{np.median(seconds):.1f} s ({min(seconds):.1f} to {max(seconds):.1f})"


def compare(model: bench_models.BenchModel, arguments: argparse.Namespace) -> None:
    setting = setting_of(model, arguments)
    peer = setting.reference.ask(None)
    weight, activation = peer["start"]
    print(f"\n{model.name}: {', '.join(setting.candidates)}, {len(setting.calibration)} calibration,"
          f" {len(setting.search)} search, {len(setting.test)} test samples; the reference starts from"
          f" W{weight}A{activation}", flush=True)  # fmt: skip
    if "curve" in arguments.parts:
        compare_curves(setting, peer, arguments.points)
    if "quality" in arguments.parts:
        middle = float(np.median(peer["scores"]))
        quality = middle if arguments.quality is None else arguments.quality
        compare_quality(setting, quality, arguments.repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bench_models.add_arguments(parser)
    parser.add_argument("--peer-python", required=True)
    parser.add_argument("--samples", type=int, default=16, help="to search with")
    parser.add_argument("--test-samples", type=int, default=32)
    parser.add_argument("--candidates", default="W8A16,W8A8")
    parser.add_argument("--points", type=int, default=24, help="of bitsweep's curve")
    parser.add_argument(
        "--parts", nargs="+", choices=["curve", "quality"], default=["curve", "quality"]
    )
    parser.add_argument(
        "--repeats", type=int, default=1, help="of the search for one quality, in turns"
    )
    parser.add_argument(
        "--quality",
        type=float,
        help="to reach, in dB; default: the middle of the reference's curve",
    )
    parser.add_argument("--answers", type=Path, default=Path("build/amp-answers"))
    arguments = parser.parse_args()
    arguments.answers.mkdir(parents=True, exist_ok=True)
    for model in bench_models.find(arguments):
        compare(model, arguments)


if __name__ == "__main__":
    sys.exit(main())
