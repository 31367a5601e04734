"""The built command, small models and samples for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from cli_support import SAMPLES, Run, conv_net, two_input_net

ROOT = Path(__file__).resolve().parents[2]


def find_command() -> Path | None:
    """$BITSWEEP_CLI, or the newest build."""
    if given := os.environ.get("BITSWEEP_CLI"):
        return Path(given)
    builds = [*ROOT.glob("build/*/src/cli/bitsweep")]
    return max(builds, key=lambda path: path.stat().st_mtime, default=None)


@pytest.fixture(scope="session")
def command() -> Path:
    found = find_command()
    if found is None:
        pytest.fail("the bitsweep command is not built: run `make build`, or set BITSWEEP_CLI")
    return found


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """ONNX Runtime of this Python, so that the tests need no activated environment."""
    import onnxruntime

    folder = Path(onnxruntime.__file__).parent / "capi"
    library = max(folder.glob("libonnxruntime.so*"))
    return {"BITSWEEP_ORT_LIB": str(library)} | os.environ


@pytest.fixture
def run(command: Path, environment: dict[str, str], tmp_path: Path) -> Run:
    """Calls the command in an empty folder."""

    def call(*arguments: str | Path, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *map(str, arguments)],
            cwd=tmp_path,
            env=environment | extra,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return call


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    onnx.save(conv_net(), path)
    return path


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(9).standard_normal((SAMPLES, 3, 8, 8)).astype(np.float32)


@pytest.fixture
def data(tmp_path: Path, images: np.ndarray) -> Path:
    path = tmp_path / "samples.npz"
    np.savez(path, image=images)
    return path


@pytest.fixture
def two_input_model(tmp_path: Path) -> Path:
    path = tmp_path / "two.onnx"
    onnx.save(two_input_net(), path)
    return path
