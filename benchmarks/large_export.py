"""Peak memory of writing a QDQ model of more than 2 GB.

    python benchmarks/large_export.py [--gigabytes 2.5] [--folder DIR]

Makes a chain of MatMul with weights in external data (random, so that nothing is sparse), then quantizes it through the
command line in a process of its own and prints the peak of its resident memory against the size of the model. Resident
is what the kernel counts (VmHWM): memory of the process and the pages of mapped files that it has read, even where the
kernel could drop these at any time. Both parts are shown by themselves too, as sampled every few milliseconds. With
float weights, on their grid, the written model is as large as the one that was read.
"""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx

WIDTH = 8192  # of a weight: 256 MiB


def make(path: Path, gigabytes: float, width: int) -> int:
    count = math.ceil(gigabytes * 1e9 / (4 * width * width))
    random = np.random.default_rng(1)
    data = path.with_name("model.onnx.data")
    graph = onnx.helper.make_graph([], "chain", [], [])
    graph.input.append(onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, width]))
    graph.output.append(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, width]))
    tensor = "x"
    with data.open("wb") as out:
        for i in range(count):
            weight = random.standard_normal((width, width), np.float32)
            weight /= np.float32(width**0.5)
            initializer = graph.initializer.add(
                name=f"w{i}", data_type=onnx.TensorProto.FLOAT, dims=weight.shape
            )
            initializer.data_location = onnx.TensorProto.EXTERNAL
            for key, value in (
                ("location", data.name),
                ("offset", out.tell()),
                ("length", weight.nbytes),
            ):
                initializer.external_data.add(key=key, value=str(value))
            out.write(weight.tobytes())
            name = "y" if i + 1 == count else f"h{i}"
            graph.node.append(
                onnx.helper.make_node("MatMul", [tensor, f"w{i}"], [name], name=f"m{i}")
            )
            tensor = name
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
    )
    onnx.save(model, path)
    return data.stat().st_size


# Of the whole process so far; now: of its own, of mapped files.
FIELDS = ("VmHWM", "RssAnon", "RssFile")


def resident(pid: int) -> list[int]:
    """Bytes by FIELDS."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return [0] * len(FIELDS)
    fields = dict(line.split(":", 1) for line in lines)
    return [1024 * int(fields.get(key, "0 kB").split()[0]) for key in FIELDS]


def watch(command: list[str | Path]) -> tuple[subprocess.CompletedProcess[str], list[int]]:
    """Runs the command; largest values by FIELDS."""
    largest = [0] * len(FIELDS)
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors) as process,
    ):
        while process.poll() is None:
            largest = list(map(max, largest, resident(process.pid)))
            time.sleep(0.01)
        errors.seek(0)
        done = subprocess.CompletedProcess(command, process.returncode, "", errors.read())
    return done, largest


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gigabytes", type=float, default=2.5)
    parser.add_argument("--folder", type=Path, help="for the models; removed afterwards")
    parser.add_argument("--weights", default="float", choices=["float", "integer"])
    parser.add_argument("--width", type=int, default=WIDTH, help="columns and rows of a weight")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--verify", action="store_true", help="with the check that follows an export"
    )
    parser.add_argument("--command", nargs="+", default=[sys.executable, "-m", "bitsweep"])
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bitsweep-large-", dir=args.folder))
    try:
        size = make(folder / "model.onnx", args.gigabytes, args.width)
        np.savez(
            folder / "x.npz",
            x=np.random.default_rng(2).standard_normal((1, args.width), np.float32),
        )
        start = time.perf_counter()
        done, (peak, own, mapped) = watch(
            [*args.command, "quantize", folder / "model.onnx", "--data", folder / "x.npz", "-o", folder / "q.onnx",
             "--weights", args.weights, "--threads", str(args.threads), *([] if args.verify else ["--no-verify"])])  # fmt: skip
        seconds = time.perf_counter() - start
        if done.returncode:
            print(done.stderr)
            return 1
        written = sum(p.stat().st_size for p in folder.glob("q.onnx*"))
        print(f"model {size / 1e9:.2f} GB, written {written / 1e9:.2f} GB in {seconds:.0f} s")
        print(
            f"peak memory {peak / 1e9:.2f} GB: {peak / size:.2f} times the model "
            f"(own memory up to {own / 1e9:.2f} GB, mapped files up to {mapped / 1e9:.2f} GB)"
        )
        return 0
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
