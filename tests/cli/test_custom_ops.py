"""Models with operators of a library that the user brings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from cli_support import Run
from onnx import TensorProto, helper, numpy_helper

from custom_op import build_triple


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Library with the operator Triple of the domain "test.ops"."""
    return build_triple(tmp_path_factory.mktemp("custom"))


@pytest.fixture
def triple(tmp_path: Path) -> Path:
    """x [n,4] -> y = 3 x @ w."""
    weight = np.random.default_rng(3).standard_normal((4, 2)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Triple", ["x"], ["tripled"], name="triple", domain="test.ops"),
            helper.make_node("MatMul", ["tripled", "w"], ["y"], name="matmul"),
        ],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(weight, "w")],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("test.ops", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    onnx.save(model, tmp_path / "triple.onnx")
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(4).standard_normal((6, 4), np.float32))
    return tmp_path / "triple.onnx"


def test_every_command_runs_them(run: Run, triple: Path, library: Path, tmp_path: Path) -> None:
    custom = ("--custom-op-library", library)
    inspected = run("inspect", triple, *custom)
    assert inspected.returncode == 0, inspected.stderr
    assert "tripled" in inspected.stdout
    swept = run("sweep", triple, "--data", "x.npz", "-o", "out", *custom)
    assert swept.returncode == 0, swept.stderr
    written = run("quantize", triple, "--data", "x.npz", "-o", "q.onnx", *custom)
    assert written.returncode == 0, written.stdout + written.stderr
    assert "verify   passed" in written.stdout
    verified = run("verify", triple, tmp_path / "q.onnx", "--data", "x.npz", *custom)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_a_missing_library_is_one_sentence(run: Run, triple: Path) -> None:
    arguments = ("sweep", triple, "--data", "x.npz", "-o", "out")
    result = run(*arguments, "--custom-op-library", "nowhere.so")
    assert result.returncode == 1
    assert 'error: custom operators: "nowhere.so" cannot be used' in result.stderr
    result = run(*arguments)
    assert result.returncode == 1
    assert "test.ops" in result.stderr
