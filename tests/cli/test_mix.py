"""bitsweep mix: chosen configuration, curve, exported model, bad input."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from cli_support import Run


def test_mix_writes_policy_curve_and_a_model_that_runs(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    result = run("mix", model, "--data", data, "--candidates", "W8A8,W8A16,W4A8", "--target", "bops<=0.6",
                 "--points", "5", "-o", "out")  # fmt: skip
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "out"
    assert sorted(path.name for path in folder.iterdir()) == [
        "frontier.csv",
        "frontier.html",
        "frontier.json",
        "model.encodings",
        "model.qdq.onnx",
        "policy.json",
    ]
    policy = json.loads((folder / "policy.json").read_text())
    assert policy["costs"]["bops"] <= 0.6
    assert policy["tensors"]["conv0.weight"] in ("int4", "int8")
    rows = list(csv.DictReader((folder / "frontier.csv").read_text().splitlines()))
    costs = [float(row["bops"]) for row in rows]
    quality = [float(row["measured_sqnr_db"]) for row in rows]
    assert costs == sorted(costs)
    assert quality == sorted(quality)
    assert len(json.loads((folder / "frontier.json").read_text())) == len(rows)
    assert "chosen" in result.stdout
    assert "test data" in result.stdout
    session = ort.InferenceSession(folder / "model.qdq.onnx", providers=["CPUExecutionProvider"])
    image = np.load(data)["image"][:1]
    assert session.run(None, {"image": image})[0].shape == (1, 4, 1, 1)
    onnx.checker.check_model(onnx.load(folder / "model.qdq.onnx"))


def test_impossible_budget_says_the_minimum(run: Run, model: Path, data: Path) -> None:
    result = run("mix", model, "--data", data, "--candidates", "W8A8", "--target", "bytes<=1B",
                 "--points", "0", "-o", "out")  # fmt: skip
    assert result.returncode == 1
    assert "infeasible: the minimum of bytes is" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--candidates", "W8A8,W8A8"], "twice"),
        (["--candidates", "W8"], "W8"),
        (["--candidates", "W8A8", "--target", "bops<=7"], "out of range"),
        (["--candidates", "W8A8", "--pin", "conv0.weight"], "pin"),
        (["--candidates", "W8A8", "--pin", "nobody=W8A8"], "nobody"),
        (["--candidates", "W8A8", "--cost", "euros"], "euros"),
    ],
)
def test_bad_input_exits_with_2_and_one_sentence(
    run: Run, model: Path, data: Path, arguments: list[str], words: str
) -> None:
    result = run("mix", model, "--data", data, "-o", "out", *arguments)
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
