"""Whether reuse changes what a sweep says, and what it saves, on trained models.

python benchmarks/exactness.py --models DIR [NAME ...]

Of each model some quantizers are swept (all with --groups 0), with PSNR, and compared:

  bits      with the same plan and every cache off: all scores, per sample and output
  full      with whole runs of the simulated model in the same states: largest difference in dB of scores below
            80 dB, and from there to 100 dB; whether the ranking is the same but for scores that differ by less
  threads   one against several: all scores to the last bit
  JSON      two runs: the bytes
  work      forward equivalents of a sample (cost run, in float passes), how many times less that is than one pass for
            each quantizer, and how many times less is possible: the cost of all that sees the change, at float speed
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass

import bench_models
import onnx
from lower_bound import downstream_share

from bitsweep import _core
from bitsweep.sweeping import group_quantizers

CLOSE_BELOW_DB = 80.0
COMPARED_BELOW_DB = 100.0
TIE_DB = 1e-3  # scores closer than this may change places


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    bench_models.add_arguments(parser)
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--groups", type=int, default=24, help="quantizers to look at; 0: all")
    parser.add_argument("--mode", default="enable_one")
    parser.add_argument("--group", default="quantizer", choices=("quantizer", "op"))
    arguments = parser.parse_args()
    print(
        f"{'model':<14}{'groups':>7}  {'bits':<5}{'full <80':>9}{'80-100':>9}  {'rank':<5}"
        f"{'threads':<8}{'JSON':<6}{'passes':>7}{'saved':>7}{'limit':>7}"
    )
    for model in bench_models.find(arguments):
        print(row(model, arguments), flush=True)


def row(model: bench_models.BenchModel, arguments: argparse.Namespace) -> str:
    sim = model.simulation(arguments.calibration)
    feeds = model.feeds("eval.npz", arguments.samples)
    groups = group_quantizers(sim, arguments.group)
    chosen = groups[:: -(-len(groups) // arguments.groups)] if arguments.groups else groups

    def sweep(**options: object) -> _core.SweepResult:
        metrics = [_core.MetricChoice("psnr")]
        return _core.sweep(sim.native, feeds, chosen, metrics, mode=arguments.mode, **options)

    kept = sweep(num_threads=1)
    again, threaded = sweep(num_threads=1), sweep(num_threads=2)
    anew = sweep(caches=False)
    full = compare(kept, sweep(reuse=False))
    json = [_core.sweep_to_json(result, []) for result in (kept, again)]
    # The work is that of the whole sweep: fewer states would share fewer suffixes.
    whole = _core.sweep(
        sim.native, feeds, groups, [_core.MetricChoice("psnr")], mode=arguments.mode
    )
    passes = whole.forward_equivalents
    tensors = [tensor for group in groups for tensor in group.tensors]
    limit = 1.0 / downstream_share(onnx.load(model.folder / "model.onnx"), feeds[0], tensors)
    return (
        f"{model.name:<14}{len(chosen):>7}  {yes(bits(kept) == bits(anew)):<5}{full.close:>9.2g}"
        f"{full.far:>9.2g}  {yes(full.same_ranking):<5}{yes(bits(kept) == bits(threaded)):<8}"
        f"{yes(json[0] == json[1]):<6}{passes:>7.1f}{len(groups) / passes:>7.2f}{limit:>7.2f}"
    )


def yes(equal: bool) -> str:
    return "yes" if equal else "NO"


def bits(result: _core.SweepResult) -> list[tuple]:
    return [
        (s.name, s.rank, s.score, list(s.per_sample), list(s.per_output)) for s in result.scores
    ]


@dataclass(frozen=True)
class Comparison:
    close: float  # largest difference of scores below CLOSE_BELOW_DB
    far: float  # of those from there to COMPARED_BELOW_DB
    same_ranking: bool


def compare(result: _core.SweepResult, full: _core.SweepResult) -> Comparison:
    got, want = ({s.name: s.score for s in r.scores} for r in (result, full))
    worst = {True: 0.0, False: 0.0}
    for name, score in want.items():
        if score < COMPARED_BELOW_DB:
            close = score < CLOSE_BELOW_DB
            worst[close] = max(worst[close], abs(got[name] - score))
    order = [want[name] for name in got if want[name] < CLOSE_BELOW_DB]
    # In the ranking of the reuse, the scores of the full runs must rise, but for ties.
    rising = all(a <= b + TIE_DB for a, b in itertools.pairwise(order))
    return Comparison(worst[True], worst[False], rising)


if __name__ == "__main__":
    main()
