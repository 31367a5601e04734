"""bitsweep quantize, export, verify: what they write loads and is what was simulated."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli_support import Run


def test_the_written_model_is_checked_and_passes(run: Run, model: Path, data: Path, tmp_path: Path):
    out = tmp_path / "net ä q.onnx"
    result = run("quantize", model, "--data", data, "-o", out, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["passed"]
    assert [check["loads"] for check in found["loads"]] == [True] * 4
    written = onnx.load(out)
    onnx.checker.check_model(written, full_check=True)
    names = [node.name for node in written.graph.node]
    assert len(set(names)) == len(names)
    assert onnx.TensorProto.INT32 in {i.data_type for i in written.graph.initializer}


@pytest.mark.parametrize("bits", ["W4A8", "W8A16", "W16A16", "W4A8@block4@mse"])
def test_other_widths_raise_the_opset_and_pass(
    run: Run, model: Path, data: Path, tmp_path: Path, bits: str
):
    out = tmp_path / "q.onnx"
    result = run("quantize", model, "--data", data, "-o", out, "--bits", bits)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "verify   passed" in result.stdout
    onnx.checker.check_model(onnx.load(out), full_check=True)
    assert onnx.load(out).opset_import[0].version == 21


def test_files_of_an_earlier_export_are_verified(run: Run, model: Path, data: Path, tmp_path: Path):
    out = tmp_path / "q.onnx"
    run("quantize", model, "--data", data, "-o", out, "--no-verify", "--no-int32-bias")
    result = run("verify", model, out, "--data", data)
    assert result.returncode == 0, result.stdout + result.stderr
    for word in ("simulation - qdq", "float - qdq optimized", "latency", "verify   passed"):
        assert word in result.stdout


def test_a_model_of_other_weights_fails_and_is_named(
    run: Run, model: Path, data: Path, tmp_path: Path
):
    out = tmp_path / "q.onnx"
    run("quantize", model, "--data", data, "-o", out, "--no-verify")
    changed = onnx.load(out)
    changed.graph.node.append(changed.graph.node[0])
    changed.graph.node[-1].output[0] = "again"
    onnx.save(changed, out)
    result = run("verify", model, out, "--data", data)
    assert result.returncode == 1
    assert "two nodes are named" in result.stdout
    assert "verify   FAILED" in result.stdout


def test_export_writes_encodings_that_quantize_takes(
    run: Run, model: Path, data: Path, tmp_path: Path
):
    folder = tmp_path / "out"
    folder.mkdir()
    result = run("export", model, "--data", data, "-o", folder, "--prefix", "my net")
    assert result.returncode == 0, result.stderr
    assert sorted(p.name for p in folder.iterdir()) == ["my net.encodings", "my net.onnx"]
    direct, again = tmp_path / "a.onnx", tmp_path / "b.onnx"
    options = ("--no-int32-bias", "--no-verify")
    run("quantize", model, "--data", data, "-o", direct, *options)
    encodings = folder / "my net.encodings"
    run("quantize", model, "--data", data, "-o", again, "--encodings", encodings, *options)
    assert direct.read_bytes() == again.read_bytes()


def test_weights_beyond_the_inline_limit_go_beside_the_model(
    run: Run, model: Path, data: Path, tmp_path: Path
):
    out = tmp_path / "q.onnx"
    result = run("quantize", model, "--data", data, "-o", out, "--inline-limit", "100B")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "verify   passed" in result.stdout
    assert (tmp_path / "q.onnx.data").is_file()
    folder = tmp_path / "float"
    folder.mkdir()
    for limit, files in (
        ("1 MiB", ["net.encodings", "net.onnx"]),
        ("0.1kB", ["net.data", "net.encodings", "net.onnx"]),
    ):
        result = run("export", model, "--data", data, "-o", folder, "--inline-limit", limit)
        assert result.returncode == 0, result.stderr
        assert sorted(p.name for p in folder.iterdir()) == files


@pytest.mark.parametrize("limit", ["much", "-1", "5 stones", "0"])
def test_an_inline_limit_that_is_no_size_is_refused(
    run: Run, model: Path, data: Path, tmp_path: Path, limit: str
):
    out = tmp_path / "q.onnx"
    result = run("quantize", model, "--data", data, "-o", out, f"--inline-limit={limit}")
    assert result.returncode == 2, result.stdout
    assert "is no size of memory" in result.stderr
    assert not out.exists()


def test_a_missing_folder_is_one_sentence_and_leaves_nothing(
    run: Run, model: Path, data: Path, tmp_path: Path
):
    before = sorted(tmp_path.rglob("*"))
    result = run("quantize", model, "--data", data, "-o", tmp_path / "no" / "q.onnx")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert "cannot write" in result.stderr
    result = run("export", model, "--data", data, "-o", tmp_path / "no")
    assert result.returncode == 1
    assert "there is no folder" in result.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_what_a_target_repairs_is_told_and_verified(
    run: Run, model: Path, data: Path, tmp_path: Path
):
    out = tmp_path / "q.onnx"
    result = run("quantize", model, "--data", data, "-o", out, "--target", "tensorrt")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "times that of the simulation" in result.stderr
    written = onnx.load(out)
    zero_points = {n.input[2] for n in written.graph.node if n.op_type == "QuantizeLinear"}
    for tensor in written.graph.initializer:
        if tensor.name in zero_points:
            assert not onnx.numpy_helper.to_array(tensor).any()


def test_a_full_disk_leaves_nothing(
    command: Path, environment: dict[str, str], model: Path, data: Path, tmp_path: Path
):
    """A limit on the size of files stands for a disk that is full."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing fails, the process goes on
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    before = sorted(tmp_path.rglob("*"))
    for name, out in (("quantize", tmp_path / "q.onnx"), ("export", tmp_path)):
        result = subprocess.run(
            [command, name, model, "--data", data, "-o", out],
            env=environment, capture_output=True, text=True, check=False, preexec_fn=limit,
        )  # fmt: skip
        assert result.returncode == 1, result.stdout
        assert "File too large" in result.stderr
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is no JSON"),
        ('{"version": "9.9", "encodings": []}', "9.9"),
        ('{"version": "2.0.0", "encodings": [{"name": "nobody", "output_dtype": "int8", "y_scale": 1.0}]}', "nobody"),
        ('{"version": "2.0.0", "encodings": [{"name": "image", "output_dtype": "uint8"}]}', "y_scale"),
        ('{"version": "2.0.0", "encodings": [{"name": "image", "output_dtype": "uint8", "y_scale": NaN}]}', ""),
        ('{"version": "2.0.0", "encodings": [{"name": "image", "output_dtype": "uint8", "y_scale": [1.0, 2.0], "axis": 0}]}', "image"),
    ],
)  # fmt: skip
def test_broken_encodings_are_one_sentence(
    run: Run, model: Path, data: Path, tmp_path: Path, content: str, words: str
):
    file = tmp_path / "e.encodings"
    file.write_text(content)
    out = tmp_path / "q.onnx"
    result = run("quantize", model, "--data", data, "-o", out, "--encodings", file)
    assert result.returncode == 1, result.stdout
    assert result.stderr.splitlines()[-1].startswith("error: encodings: ")
    assert words in result.stderr
    assert not out.exists()


def test_a_pattern_that_does_not_map_is_named(run: Run, data: Path, model: Path, tmp_path: Path):
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("QuantizeLinear", ["image", "s", "z"], ["q"], name="lonely"),
            onnx.helper.make_node("Cast", ["q"], ["y"], name="cast", to=onnx.TensorProto.FLOAT),
        ],
        "g",
        [onnx.helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, ["n", 3, 8, 8])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [
            onnx.numpy_helper.from_array(np.float32(0.1), "s"),
            onnx.numpy_helper.from_array(np.uint8(3), "z"),
        ],
    )
    out = tmp_path / "q.onnx"
    onnx.save(
        onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
        ),
        out,
    )
    result = run("verify", model, out, "--data", data)
    assert result.returncode == 1
    assert (
        '"lonely" (QuantizeLinear) does not map to a quantizer: "cast" (Cast) reads'
        in result.stderr
    )
