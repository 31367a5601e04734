#!/usr/bin/env python3
"""Times the per-quantizer sensitivity sweep of bitsweep and of aimet_onnx side by side.

    compare_aimet.py [MODEL ...] [--models DIR] [--samples N] [--repeats N] [--threads N] [--json FILE]

Same model, samples, calibration data, metric (PSNR) and CPUs for both; each runs in a process of its own that stays
alive, so that import, building and calibration are outside of what is timed. Runs alternate, medians are printed.
Without names: all models of DIR that have samples, and the built-in ones. A model at which a side fails is named, and
the others go on.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import lower_bound
import networks
import onnx
import peer_environment
from agreement import SENSITIVE_BELOW_DB, Agreement, compare_scores, differing_encodings
from sides import PEER, Side, SideError, machine, model_folder, worker_inputs
from sweep_worker import read_feeds

# Without --samples: as many as the peer sweeps in about this time, and at most so many.
PEER_SECONDS = 10.0
MOST_SAMPLES = 8


@dataclass(frozen=True)
class Row:
    """One model's comparison; seconds are medians, memory is the peak of the whole process in MiB."""

    model: str
    quantizers: int
    samples: int
    threads: int
    peer_session_threads: int
    subject_seconds: float
    peer_seconds: float
    subject_all_seconds: list[float]
    peer_all_seconds: list[float]
    ratio: float
    float_ms: float
    subject_float_runs: float  # per state and sample
    peer_float_runs: float
    limit_float_runs: float
    subject_peak_mib: int
    peer_peak_mib: int
    subject_import_mib: int
    peer_import_mib: int
    differing_encodings: list[str]
    agreement: Agreement


def compare(
    name: str,
    folder: Path,
    subject_python: tuple[str, Path],
    peer_python: Path,
    args: argparse.Namespace,
) -> Row:
    cpus = sorted(os.sched_getaffinity(0))[: args.threads]
    inputs = worker_inputs(
        name, folder, args, args.samples or MOST_SAMPLES, opaque_metric=args.opaque_metric
    )
    with ExitStack() as running:
        peer, peer_encodings, peer_threads, samples = _fastest_peer(
            name, folder / "model.onnx", peer_python, cpus, inputs, args, running
        )
        subject = Side(
            subject_python[0],
            subject_python[1],
            cpus,
            args.work / f"{name}.{subject_python[0]}.log",
        )
        running.callback(subject.close)
        options = {"intra_op_num_threads": args.threads}
        encodings = subject.ask("prepare", **inputs, sim_session_options=options)["encodings"]
        subject.ask("keep", samples=samples)

        runs: dict[str, list[dict[str, Any]]] = {"subject": [], "peer": []}
        floats = []
        for repeat in range(args.repeats):
            order = [("subject", subject), ("peer", peer)]
            # Who goes first changes, so that a drift of the machine's speed does not favour one side.
            for key, side in order if repeat % 2 == 0 else reversed(order):
                floats.append(subject.ask("float")["seconds"])
                runs[key].append(side.ask("sweep"))
        import_kib = {
            "subject": subject.about["after_import_kib"],
            "peer": peer.about["after_import_kib"],
        }

    float_seconds = statistics.median(floats)
    seconds = {key: [run["seconds"] for run in results] for key, results in runs.items()}
    medians = {key: statistics.median(values) for key, values in seconds.items()}
    scores = {key: results[-1]["scores"] for key, results in runs.items()}
    model = onnx.load(inputs["model"])
    feed = read_feeds(folder / "eval.npz", model, 1)[0]
    # Both sides are put in units of the same work, also when they should disagree about the number of quantizers.
    unit = {key: len(scores[key]) * samples * float_seconds for key in scores}
    return Row(
        model=name,
        quantizers=len(scores["subject"]),
        samples=samples,
        threads=args.threads,
        peer_session_threads=peer_threads,
        subject_seconds=medians["subject"],
        peer_seconds=medians["peer"],
        subject_all_seconds=seconds["subject"],
        peer_all_seconds=seconds["peer"],
        ratio=medians["peer"] / medians["subject"],
        float_ms=float_seconds * 1e3,
        subject_float_runs=medians["subject"] / unit["subject"],
        peer_float_runs=medians["peer"] / unit["peer"],
        limit_float_runs=lower_bound.downstream_share(model, feed, scores["subject"]),
        subject_peak_mib=runs["subject"][-1]["peak_kib"] // 1024,
        peer_peak_mib=runs["peer"][-1]["peak_kib"] // 1024,
        subject_import_mib=import_kib["subject"] // 1024,
        peer_import_mib=import_kib["peer"] // 1024,
        differing_encodings=differing_encodings(encodings, peer_encodings),
        agreement=compare_scores(scores["subject"], scores["peer"]),
    )


def _fastest_peer(
    name: str,
    unfolded: Path,
    python: Path,
    cpus: list[int],
    inputs: dict[str, Any],
    args: argparse.Namespace,
    running: ExitStack,
) -> tuple[Side, dict[str, Any], int, int]:
    """The peer with the session setting that suits this model best: all threads inside a run, or one.

    Also its encodings, its threads, and the number of samples to sweep.
    """
    candidates = []
    for threads in sorted({1, args.threads}):
        side = Side(PEER, python, cpus, args.work / f"{name}.{PEER}.{threads}.log")
        running.callback(side.close)
        side.ask("fold", model=str(unfolded), folded=inputs["model"])
        encodings = side.ask(
            "prepare", **inputs, sim_session_options={"intra_op_num_threads": threads}
        )["encodings"]
        candidates.append((side.ask("metric")["seconds"], threads, side, encodings))
    candidates.sort(key=lambda candidate: candidate[0])
    for _, _, side, _ in candidates[1:]:
        side.close()
    seconds, threads, side, encodings = candidates[0]
    samples: int = inputs["samples"]
    if args.samples is None:
        per_sample = seconds / samples * len(encodings)
        samples = max(1, min(samples, round(PEER_SECONDS / per_sample)))
    side.ask("keep", samples=samples)
    return side, encodings, threads, samples


def print_table(rows: list[Row], subject: str) -> None:
    head = (
        f"{'model':<14}{'quant.':>7}{'samples':>8}{subject + ' s':>12}{PEER + ' s':>14}{'ratio':>7}"
        f"{'float ms':>10}{'runs':>7}{'peer':>7}{'limit':>7}{'xlimit':>7}{'max dB':>10}{'rank':>8}{'top 10':>7}{'MiB':>7}{'peer':>7}"
    )
    print(head)
    for row in rows:
        agreement = row.agreement
        print(
            f"{row.model:<14}{row.quantizers:>7}{row.samples:>8}{row.subject_seconds:>12.2f}{row.peer_seconds:>14.2f}"
            f"{row.ratio:>7.2f}{row.float_ms:>10.2f}{row.subject_float_runs:>7.2f}{row.peer_float_runs:>7.2f}"
            f"{row.limit_float_runs:>7.2f}{row.subject_float_runs / row.limit_float_runs:>7.2f}{agreement.max_difference_db:>10.4f}{agreement.spearman:>8.4f}"
            f"{agreement.top10_overlap:>7}{row.subject_peak_mib:>7}{row.peer_peak_mib:>7}"
        )
    print(
        "\nseconds: median of one whole sweep. runs, peer, limit: cost per quantizer and sample in float runs; limit is the"
        f"\nestimated cost of what lies behind a quantizer, xlimit is runs over limit. max dB: largest score difference below {SENSITIVE_BELOW_DB:.0f} dB."
        "\nrank: Spearman correlation. MiB: peak resident memory of the process."
    )
    for row in rows:
        print(
            f"{row.model}: {row.threads} CPUs each; the fastest {PEER} session used {row.peer_session_threads} thread(s); "
            f"after import {row.subject_import_mib} and {row.peer_import_mib} MiB"
        )
        if row.differing_encodings:
            print(
                f"  encodings differ: {len(row.differing_encodings)}, first {row.differing_encodings[:3]}"
            )
        if row.agreement.only_one:
            print(
                f"  scored by one side only: {len(row.agreement.only_one)}, first {row.agreement.only_one[:3]}"
            )


def parse_arguments() -> argparse.Namespace:
    root = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="MODEL",
        help="default: those of --models, and the built-in ones",
    )
    parser.add_argument(
        "--models", type=Path, help="folder of further models: NAME/model.onnx, eval.npz, calib.npz"
    )
    parser.add_argument(
        "--samples",
        type=int,
        help=f"samples per score (default: what {PEER} sweeps in {PEER_SECONDS:.0f} s, at most {MOST_SAMPLES})",
    )
    parser.add_argument("--calibration-samples", type=int, default=8, help="(default: %(default)s)")
    parser.add_argument(
        "--repeats",
        type=int,
        default=5,
        help="sweeps per side; the median counts (default: %(default)s)",
    )
    parser.add_argument(
        "--threads", type=int, default=2, help="CPUs that each side may use (default: %(default)s)"
    )
    parser.add_argument("--json", type=Path, help="also write the results here")
    parser.add_argument(
        "--opaque-metric",
        action="store_true",
        help="score with a function that neither side can look into, as a user's own would be",
    )
    parser.add_argument(
        "--peer-venv",
        type=Path,
        default=root / "build" / "peer",
        help="environment of the peer, made when missing",
    )
    parser.add_argument(
        "--work", type=Path, default=root / "build" / "benchmarks", help="built models and logs"
    )
    parser.add_argument(
        "--subject",
        default="bitsweep",
        choices=["bitsweep", PEER],
        help=f"{PEER}: compare the peer with itself, which shows the noise of the machine",
    )
    args = parser.parse_args()
    available = len(os.sched_getaffinity(0))
    for name, value in (
        ("--samples", args.samples),
        ("--repeats", args.repeats),
        ("--calibration-samples", args.calibration_samples),
    ):
        if value is not None and value < 1:
            parser.error(f"{name} must be at least 1, got {value}")
    if not 1 <= args.threads <= available:
        parser.error(
            f"--threads must be 1 to {available} (the CPUs of this machine), got {args.threads}"
        )
    return args


def _all_models(args: argparse.Namespace) -> list[str]:
    files = ("model.onnx", "eval.npz", "calib.npz")
    folders = sorted(args.models.iterdir()) if args.models else []
    return [f.name for f in folders if all((f / n).is_file() for n in files)] + [*networks.BUILDERS]


def main() -> None:
    args = parse_arguments()
    args.work.mkdir(parents=True, exist_ok=True)
    folders = {
        name: model_folder(name, args, args.samples or MOST_SAMPLES)
        for name in args.names or _all_models(args)
    }
    peer_python = peer_environment.ensure(args.peer_venv)
    subject_python = peer_python if args.subject == PEER else Path(sys.executable)
    about = machine()
    print(
        f"{about['cpu']}, {about['cores']} cores, load {about['load_average']:.2f}, Python {about['python']}",
        flush=True,
    )
    rows = []
    for name, folder in folders.items():
        try:
            rows.append(compare(name, folder, (args.subject, subject_python), peer_python, args))
        except SideError as failure:
            print(f"{name}: {failure}", flush=True)
        else:
            print(f"{name}: {rows[-1].ratio:.2f}x", flush=True)
    if not rows:
        raise SystemExit("no model could be compared")
    print_table(rows, args.subject)
    print(
        f"geometric mean of the ratios {statistics.geometric_mean(row.ratio for row in rows):.2f}, "
        f"lowest {min(row.ratio for row in rows):.2f}"
    )
    if args.json:
        args.json.write_text(
            json.dumps({"machine": about, "rows": [asdict(row) for row in rows]}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
