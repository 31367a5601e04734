"""What the README shows has to run, as it stands there, on a small model under the names it uses."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language, text=README):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def commands():
    """The `bitsweep ...` lines, without their comments."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("bitsweep ")]


def write_model(folder):
    """An image model of two layers with open batch dimension, and samples for it."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(3)
    weights = {
        "conv.weight": rng.normal(size=(4, 3, 3, 3), scale=0.3),
        "fc.weight": rng.normal(size=(5, 4), scale=0.5),
    }
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["image", "conv.weight"], ["conv"], name="conv"),
            helper.make_node("Relu", ["conv"], ["relu"], name="relu"),
            helper.make_node("GlobalAveragePool", ["relu"], ["pool"], name="pool"),
            helper.make_node("Flatten", ["pool"], ["flat"], name="flat"),
            helper.make_node("Gemm", ["flat", "fc.weight"], ["logits"], name="fc", transB=1),
        ],
        "readme",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 5])],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "model.onnx")
    images = rng.normal(size=(4, 3, 8, 8)).astype(np.float32)
    np.savez(folder / "data.npz", image=images)
    np.savez(folder / "samples.npz", image=images)
    (folder / "samples").mkdir()
    for number, image in enumerate(images):
        np.save(folder / "samples" / f"{number}.npy", image[None])


def test_the_python_example_runs(tmp_path):
    write_model(tmp_path / "demo")
    (code,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", code + "\nprint(*scores)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "conv.weight" in done.stdout
    assert (tmp_path / "sensitivity.html").stat().st_size > 100_000


def test_the_blocks_of_the_python_page_run_one_after_the_other(tmp_path):
    write_model(tmp_path)
    code = "\n".join(blocks("python", (ROOT / "docs" / "python.md").read_text()))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "0 were run" in done.stdout
    assert "True" in done.stdout.splitlines()
    for file in ("out/report.html", "out/results.json", "mix/frontier.html", "mix/policy.json"):
        assert (tmp_path / file).stat().st_size > 0, file


# What each command prints, and the files that it leaves.
EFFECTS = {
    "inspect": ("conv", []),
    "sweep": ("conv", ["out/results.json", "out/report.html"]),
    "analyze": ("conv", ["out/index.html"]),
    "mix": ("W8A16 x ", ["out/policy.json", "out/frontier.html", "out/model.qdq.onnx"]),
    "quantize": ("logits", ["model_qdq.onnx"]),
    "verify": ("logits", []),
}


def test_the_commands_run_one_after_the_other(tmp_path):
    write_model(tmp_path)
    before = set(tmp_path.iterdir())
    for command in commands():
        done = subprocess.run(
            [sys.executable, "-m", "bitsweep", *command[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
        words, files = EFFECTS[command[1]]
        assert words in done.stdout, command
        for file in files:
            assert (tmp_path / file).stat().st_size > 0, (command, file)
        if "out" in command:
            shutil.rmtree(tmp_path / "out")  # so that the next command has to write it
    assert set(tmp_path.iterdir()) == before | {tmp_path / "model_qdq.onnx"}
