"""The notebook has to run from end to end: every cell in order, in a fresh Python, on a small model."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

# The README's model has the names that the notebook uses.
_spec = importlib.util.spec_from_file_location(
    "readme_model", Path(__file__).with_name("test_readme.py")
)
_readme = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_readme)

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "mixed_precision.ipynb"


def source():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")


def run(demo, folder):
    environment = dict(
        os.environ, BITSWEEP_DEMO=str(demo), BITSWEEP_RESULTS=str(folder / "results")
    )
    return subprocess.run(
        [sys.executable, "-c", source()],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def check(done, folder):
    assert done.returncode == 0, done.stderr
    assert "float accuracy" in done.stdout
    assert "chosen: " in done.stdout
    results = folder / "results"
    for name in ("policy.json", "mixed_precision.qdq.onnx", "mixed_precision.encodings"):
        assert (results / name).exists(), name
    onnx.checker.check_model(onnx.load(results / "mixed_precision.qdq.onnx"))


def test_the_notebook_runs_on_a_small_model(tmp_path):
    demo = tmp_path / "demo"
    _readme.write_model(demo)
    rng = np.random.default_rng(5)
    images = rng.normal(size=(16, 3, 8, 8)).astype(np.float32)
    np.savez(demo / "data.npz", image=images, label=np.arange(16) % 5)
    np.savez(demo / "calibration.npz", image=images)
    check(run(demo, tmp_path), tmp_path)


def test_notebook_is_saved_without_outputs():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert all(not c.get("outputs") for c in cells)


@pytest.mark.skipif("BITSWEEP_DEMO" not in os.environ, reason="needs the model of make demo")
def test_the_notebook_runs_on_the_real_model(tmp_path):
    check(run(Path(os.environ["BITSWEEP_DEMO"]).resolve(), tmp_path), tmp_path)
