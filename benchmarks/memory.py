#!/usr/bin/env python3
"""Peak memory of a sweep against its bound: twice a float session's peak plus the cap; and against the number of samples.

    memory.py --models DIR [NAME ...] [--caps MIB ...] [--samples N ...] [--groups N]

Each figure is VmHWM of a process of its own, libraries and Python included. Samples are read from the file one after another,
from its start again where it holds fewer. A cap of 0 is the default, half of the machine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bench_models
from sweep_worker import memory_kib


class Repeated:
    """`count` samples of a source, which is opened anew whenever it ends; none is kept."""

    def __init__(self, source: Any, count: int) -> None:
        self._source = source
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        again = itertools.chain.from_iterable(itertools.repeat(self._source))
        return itertools.islice(again, self._count)


def float_session(folder: Path) -> dict[str, float]:
    """What the runtime alone takes for the float model, both cores inside a run."""
    import numpy as np
    import onnxruntime as ort

    session = ort.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    arrays = np.load(folder / "eval.npz")
    feed = {i.name: arrays[i.name][:1] for i in session.get_inputs()}
    for _ in range(3):
        session.run(None, feed)
    return {}


def sweep_once(
    folder: Path, samples: int, cap_mib: int, groups: int, repeats: int
) -> dict[str, float]:
    """A sweep of all quantizers, or of some at equal distances."""
    from bitsweep import open_samples
    from bitsweep.sweeping import group_quantizers, sweep

    sim = bench_models.BenchModel(folder.name, folder).simulation(1)
    before = memory_kib("VmHWM")
    names = [group.name for group in group_quantizers(sim)]
    chosen = set(names[:: max(1, len(names) // groups)] if groups else names)
    source = open_samples(folder / "eval.npz", folder / "model.onnx")
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = sweep(
            sim,
            Repeated(source, samples),
            group=lambda name: name if name in chosen else None,
            max_memory_bytes=cap_mib << 20,
            progress=False,
        )
        seconds.append(time.perf_counter() - start)
    return {
        "calibrated_mib": before / 1024,
        "passes": result.forward_equivalents,
        "seconds": min(seconds),
    }


def measured(call: str, **arguments: Any) -> dict[str, float]:
    """The answer of a process of its own, with its peak."""
    command = [sys.executable, __file__, "--child", call, json.dumps(arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def child(call: str, arguments: dict[str, Any]) -> None:
    folder = Path(arguments.pop("folder"))
    answer = {"float_session": float_session, "sweep_once": sweep_once}[call](folder, **arguments)
    print(json.dumps({**answer, "peak_mib": memory_kib("VmHWM") / 1024}))


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], json.loads(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    bench_models.add_arguments(parser)
    parser.add_argument(
        "--caps", type=int, nargs="+", default=[32, 200, 0], help="MiB (default: 32 200 0)"
    )
    parser.add_argument(
        "--samples", type=int, nargs="+", default=[8], help="(default: 8); 8 512 to compare them"
    )
    parser.add_argument("--groups", type=int, default=0, help="quantizers to sweep (default: all)")
    parser.add_argument("--repeats", type=int, default=1, help="sweeps of a process (default: 1)")
    args = parser.parse_args()
    print(
        f"{'model':<14}{'cap':>6}{'samples':>9}{'float':>7}{'bound':>7}{'peak':>7}{'within':>8}"
        f"{'calibrated':>12}{'passes':>9}{'seconds':>9}"
    )
    for model in bench_models.find(args):
        folder = str(model.folder)
        alone = measured("float_session", folder=folder)["peak_mib"]
        for cap, samples in itertools.product(args.caps, args.samples):
            found = measured(
                "sweep_once",
                folder=folder,
                samples=samples,
                cap_mib=cap,
                groups=args.groups,
                repeats=args.repeats,
            )
            bound = 2 * alone + cap
            within = "" if cap == 0 else "yes" if found["peak_mib"] < bound else "no"
            print(
                f"{model.name:<14}{cap:>6}{samples:>9}{alone:>7.0f}{bound if cap else 0:>7.0f}"
                f"{found['peak_mib']:>7.0f}{within:>8}{found['calibrated_mib']:>12.0f}"
                f"{found['passes']:>9.1f}{found['seconds']:>9.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
