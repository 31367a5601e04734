#!/usr/bin/env python3
"""Times the whole simulated model, every quantizer on, against the float model: bitsweep and aimet_onnx side by side.

    compare_forward.py [MODEL ...] [--models DIR] [--samples N] [--repeats N] [--threads N] [--json FILE]

Passes of both sides alternate; each repeat is the median over the samples. A ratio is the median of the ratios of the
repeats, by the clock and by CPU time; on a machine that does other things only the latter, with one thread, means much.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import statistics
import sys
from pathlib import Path

import networks
import peer_environment
from sides import PEER, Side, machine, model_folder, worker_inputs

DEFAULT_MODELS = ["resnet18", "mobilenet_v2", "effnet-lite0", "minilm"]


def measure(
    name: str, folder: Path, peer_python: Path, args: argparse.Namespace
) -> dict[str, float]:
    """Milliseconds per sample of the float model, and what each side costs in float runs."""
    cpus = sorted(os.sched_getaffinity(0))[: args.threads]
    inputs = worker_inputs(name, folder, args, args.samples)
    own = Path(sys.executable)
    threads = {"intra_op_num_threads": args.threads}
    sides = {}
    for package, python in ((PEER, peer_python), ("bitsweep", own)):
        side = sides[package] = Side(package, python, cpus, args.work / f"{name}.{package}.log")
        if package == PEER:
            side.ask("fold", model=str(folder / "model.onnx"), folded=inputs["model"])
        side.ask("prepare", **inputs, sim_session_options=threads)
    values: dict[str, list[float]] = collections.defaultdict(list)
    for _ in range(args.repeats):
        unit = sides["bitsweep"].ask("float")
        values["float_ms"].append(unit["seconds"] * 1e3)
        for label, side in sides.items():
            simulated = side.ask("simulated")
            values[label].append(simulated["seconds"] / unit["seconds"])
            values[f"{label} cpu"].append(simulated["cpu_seconds"] / unit["cpu_seconds"])
    for side in sides.values():
        side.close()
    return {label: statistics.median(measured) for label, measured in values.items()}


def parse_arguments() -> argparse.Namespace:
    root = Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="MODEL",
        default=DEFAULT_MODELS,
        help=f"default: {' '.join(DEFAULT_MODELS)}; also {', '.join(networks.BUILDERS)}",
    )
    parser.add_argument(
        "--models", type=Path, help="folder of further models: NAME/model.onnx, eval.npz, calib.npz"
    )
    parser.add_argument("--samples", type=int, default=8, help="(default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=7, help="(default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="CPUs (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="also write the results here")
    parser.add_argument("--peer-venv", type=Path, default=root / "build" / "peer")
    parser.add_argument("--work", type=Path, default=root / "build" / "benchmarks")
    args = parser.parse_args()
    args.calibration_samples = 4
    return args


def main() -> None:
    args = parse_arguments()
    args.work.mkdir(parents=True, exist_ok=True)
    folders = {name: model_folder(name, args, args.samples) for name in args.names}
    peer_python = peer_environment.ensure(args.peer_venv)
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load_average']:.2f}")
    labels = ["bitsweep", "bitsweep cpu", PEER, f"{PEER} cpu"]
    print(
        f"{'model':<14}{'float ms':>10}{''.join(f'{label:>16}' for label in labels)}    in float runs"
    )
    rows = {}
    for name, folder in folders.items():
        row = rows[name] = measure(name, folder, peer_python, args)
        ratios = "".join(f"{row[label]:>16.2f}" for label in labels)
        print(f"{name:<14}{row['float_ms']:>10.2f}{ratios}", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"machine": about, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
