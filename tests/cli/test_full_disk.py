"""A disk that fills up while the command writes: what was found so far stays, one sentence says what to do."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli_support import Run, product_net

# The page of a report takes more; a journal takes less as long as the sweep is small.
SMALLER_THAN_A_PAGE = 36_000
LARGER_THAN_A_PAGE = 800_000

FullDisk = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def on_full_disk(command: Path, environment: dict[str, str], tmp_path: Path) -> FullDisk:
    """Calls the command while no file may grow beyond a limit: writing fails there as on a full disk."""

    def call(limit: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        def before() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return subprocess.run(
            [command, *map(str, arguments)],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
            check=False, preexec_fn=before,
        )  # fmt: skip

    return call


def errors(result: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in result.stderr.splitlines() if line.startswith("error: ")]


def ranking(folder: Path) -> dict:
    return json.loads((folder / "results.json").read_text())["ranking"]


def test_scores_are_saved_although_journal_and_page_do_not_fit(
    on_full_disk: FullDisk, run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    arguments = ("sweep", model, "--data", data, "--progress", "none", "-o")
    full = on_full_disk(SMALLER_THAN_A_PAGE, *arguments, "out")
    assert full.returncode == 1
    assert "the journal in out cannot be written" in full.stderr
    assert len(errors(full)) == 1
    assert '"out/report.html" cannot be written' in errors(full)[0]
    assert "free some space" in errors(full)[0]
    assert run(*arguments, "cold").returncode == 0
    assert ranking(tmp_path / "out") == ranking(tmp_path / "cold")
    # With space again the same command goes on from what the journal holds.
    again = run(*arguments, "out")
    assert again.returncode == 0, again.stderr
    assert "continued: " in again.stderr
    assert (tmp_path / "out/results.json").read_bytes() == (
        tmp_path / "cold/results.json"
    ).read_bytes()


def test_a_journal_that_does_not_fit_costs_the_sweep_nothing(
    on_full_disk: FullDisk, run: Run, tmp_path: Path
) -> None:
    onnx.save(product_net(), tmp_path / "wide.onnx")
    random = np.random.default_rng(3)
    np.savez(tmp_path / "wide.npz", x=random.standard_normal((24, 40, 240)).astype(np.float32))
    arguments = ("sweep", "wide.onnx", "--data", "wide.npz", "--progress", "none", "-o")
    full = on_full_disk(LARGER_THAN_A_PAGE, *arguments, "out")
    assert full.returncode == 0, full.stderr
    assert "cannot be written" in full.stderr
    assert "free some space" in full.stderr
    assert run(*arguments, "cold").returncode == 0
    assert ranking(tmp_path / "out") == ranking(tmp_path / "cold")


def test_a_disk_without_any_space_is_told_before_the_work(
    on_full_disk: FullDisk, model: Path, data: Path
) -> None:
    full = on_full_disk(1_000, "sweep", model, "--data", data, "-o", "out")
    assert full.returncode == 1
    assert len(errors(full)) == 1
    assert "free some space" in errors(full)[0]
    assert "sweep:" not in full.stderr


def test_the_choice_of_a_mix_is_saved_although_its_page_does_not_fit(
    on_full_disk: FullDisk, run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    arguments = (
        "mix", model, "--data", data, "--candidates", "W8A8,W4A8", "--target", "bops<=0.8",
        "--progress", "none", "-o",
    )  # fmt: skip
    full = on_full_disk(SMALLER_THAN_A_PAGE, *arguments, "out")
    assert full.returncode == 1
    assert len(errors(full)) == 1
    assert '"out/frontier.html" cannot be written' in errors(full)[0]
    assert "free some space" in errors(full)[0]
    assert run(*arguments, "cold").returncode == 0
    for name in ("policy.json", "model.qdq.onnx", "frontier.json"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "cold" / name).read_bytes()
