"""What the comparisons share: a package in a worker process, where models are, what the machine is."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import networks

PEER = "aimet_onnx"


class SideError(SystemExit):
    """The package failed at a request; says where its last words are."""


class Side:
    """A package in its worker process."""

    def __init__(self, package: str, python: Path, cpus: list[int], log: Path) -> None:
        self.package = package
        self.log = log
        worker = Path(__file__).with_name("sweep_worker.py")
        # Affinity is what makes "the same number of threads" true for every pool inside a package.
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [str(python), str(worker), package],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                preexec_fn=lambda: os.sched_setaffinity(0, cpus),
            )
        self.about = self.ask("hello")

    def ask(self, action: str, **arguments: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answer = ""
        try:
            print(json.dumps({"do": action, **arguments}), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            pass  # the worker died; the message below says where its last words are
        if not answer:
            lines = self.log.read_text().strip().splitlines() or ["no message"]
            raise SideError(
                f"{self.package} failed at {action!r}: {lines[-1]}; all of it is in {self.log}"
            )
        reply: dict[str, Any] = json.loads(answer)
        return reply

    def close(self) -> None:
        """May be called again, and after a failure."""
        if self._process.poll() is None:
            self._process.communicate('{"do": "quit"}\n')


def worker_inputs(
    name: str,
    folder: Path,
    args: argparse.Namespace,
    samples: int,
    *,
    opaque_metric: bool = False,
) -> dict[str, Any]:
    """What both sides of a comparison are given: the same folded model, samples and number of threads."""
    return {
        "model": str(args.work / f"{name}.folded.onnx"),
        "data": str(folder / "eval.npz"),
        "calibration": str(folder / "calib.npz"),
        "samples": samples,
        "calibration_samples": args.calibration_samples,
        "threads": args.threads,
        "opaque_metric": opaque_metric,
    }


def machine() -> dict[str, Any]:
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "python": platform.python_version(),
    }


def model_folder(name: str, args: argparse.Namespace, samples: int) -> Path:
    folder: Path
    if name in networks.BUILDERS:
        folder = args.work / name
        networks.write(name, folder, max(samples, args.calibration_samples))
        return folder
    if args.models is None or not (args.models / name / "model.onnx").exists():
        known = ", ".join(networks.BUILDERS)
        raise SystemExit(
            f"there is no model {name!r}; built in are {known}, "
            f"others need --models DIR with {name}/model.onnx, {name}/eval.npz and {name}/calib.npz"
        )
    folder = args.models / name
    return folder
