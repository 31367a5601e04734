#!/usr/bin/env python3
"""Time and peak memory of calibration: bitsweep and aimet_onnx side by side, for few samples and for many.

    compare_calibration.py [MODEL ...] [--models DIR] [--samples 8 256] [--scheme NAME] [--threads N] [--peer-venv DIR]

Each calibration runs in a process of its own, so that peaks are those of one calibration; the memory that the process
has before it starts is printed beside. The samples of calib.npz are used round and round until there are enough.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import peer_environment

DEFAULT_MODELS = ["effnet-lite0", "minilm"]


def work(package: str, model: str, data: str, samples: int, scheme: str, threads: int) -> None:
    """One calibration; prints what it took as JSON."""
    import importlib
    import time

    import onnx
    from sweep_worker import memory_kib, read_feeds

    quantsim = importlib.import_module(f"{package}.quantsim")
    float_model = onnx.load(model)
    feeds = read_feeds(Path(data), float_model, 8)

    def rounds() -> Iterator[Any]:
        return itertools.islice(itertools.cycle(feeds), samples)

    sim = quantsim.QuantizationSimModel(
        float_model,
        quant_scheme=scheme,
        config_file="default",
        session_options_kwargs={"intra_op_num_threads": threads},
    )
    before = memory_kib("VmRSS")
    start = time.perf_counter()
    sim.compute_encodings(rounds())
    seconds = time.perf_counter() - start
    answer = {"seconds": seconds, "before_kib": before, "peak_kib": memory_kib("VmHWM")}
    os.write(3, json.dumps(answer).encode())


def measure(python: Path, cpus: list[int], *arguments: object) -> dict[str, Any]:
    """Runs :func:`work` in a process that is bound to some CPUs."""
    read, write = os.pipe()

    def prepare() -> None:
        os.sched_setaffinity(0, cpus)
        os.dup2(write, 3)

    command = [str(python), __file__, "--worker", *map(str, arguments)]
    # What packages print is not of interest unless they fail.
    result = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=prepare,
        close_fds=False,
    )
    os.close(write)
    with os.fdopen(read) as answers:
        answer = answers.read()
    if result.returncode != 0 or not answer:
        last = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise SystemExit(f"compare_calibration: {arguments[0]} failed: {last}")
    reply: dict[str, Any] = json.loads(answer)
    return reply


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        package, model, data, samples, scheme, threads = sys.argv[2:]
        work(package, model, data, int(samples), scheme, int(threads))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="MODEL", default=DEFAULT_MODELS)
    parser.add_argument("--models", type=Path, default=Path("build/models"))
    parser.add_argument("--samples", type=int, nargs="+", default=[8, 256])
    parser.add_argument("--scheme", default="min_max")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--peer-venv", type=Path, default=Path("build/peer"))
    parser.add_argument("--no-peer", action="store_true", help="measure bitsweep alone")
    args = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))[: args.threads]
    sides = [("bitsweep", Path(sys.executable))]
    if not args.no_peer:
        sides.append(("aimet_onnx", peer_environment.ensure(args.peer_venv)))

    print(f"{'model':14}{'package':12}{'samples':>8}{'ms/sample':>11}{'peak MiB':>10}{'before':>8}")
    for name in args.names:
        folder = args.models / name
        if not (folder / "model.onnx").exists():
            raise SystemExit(
                f"compare_calibration: {folder} has no model.onnx; name the folder of the models with --models"
            )
        for package, python in sides:
            for samples in args.samples:
                found = measure(
                    python,
                    cpus,
                    package,
                    folder / "model.onnx",
                    folder / "calib.npz",
                    samples,
                    args.scheme,
                    args.threads,
                )
                print(
                    f"{name:14}{package:12}{samples:8}{1e3 * found['seconds'] / samples:11.1f}"
                    f"{found['peak_kib'] / 1024:10.0f}{found['before_kib'] / 1024:8.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
