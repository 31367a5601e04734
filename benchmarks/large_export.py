"""Peak memory of writing a QDQ model of more than 2 GB.

    python benchmarks/large_export.py [--gigabytes 2.5] [--folder DIR]

Makes a chain of MatMul with weights in external data (random, so that nothing is sparse), then quantizes it through the
command line in a process of its own and prints the peak of its resident memory against the size of the model. The
weights are stored as floats on their grid: the written model is as large as the one that was read.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx

WIDTH = 8192  # one weight: 256 MiB


def make(path: Path, gigabytes: float) -> int:
    count = round(gigabytes * 1e9 / (4 * WIDTH * WIDTH))
    random = np.random.default_rng(1)
    data = path.with_name("model.onnx.data")
    graph = onnx.helper.make_graph([], "chain", [], [])
    graph.input.append(onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, WIDTH]))
    graph.output.append(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, WIDTH]))
    tensor = "x"
    with data.open("wb") as out:
        for i in range(count):
            weight = random.standard_normal((WIDTH, WIDTH), np.float32)
            weight /= np.float32(WIDTH**0.5)
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


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gigabytes", type=float, default=2.5)
    parser.add_argument("--folder", type=Path, help="for the models; removed afterwards")
    parser.add_argument("--weights", default="float", choices=["float", "integer"])
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bitsweep-large-", dir=args.folder))
    try:
        size = make(folder / "model.onnx", args.gigabytes)
        np.savez(
            folder / "x.npz", x=np.random.default_rng(2).standard_normal((1, WIDTH), np.float32)
        )
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "bitsweep", "quantize", folder / "model.onnx", "--data", folder / "x.npz", "-o",
             folder / "q.onnx", "--weights", args.weights, "--no-verify", "--threads", "1"],
            capture_output=True, text=True, check=False)  # fmt: skip
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        if done.returncode:
            print(done.stderr)
            return 1
        written = sum(p.stat().st_size for p in folder.glob("q.onnx*"))
        print(f"model {size / 1e9:.2f} GB, written {written / 1e9:.2f} GB in {seconds:.0f} s")
        print(f"peak memory {peak / 1e9:.2f} GB: {peak / size:.2f} times the model")
        return 0
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
