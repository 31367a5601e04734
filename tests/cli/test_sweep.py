"""bitsweep sweep: results, files, reuse, progress, Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli_support import SAMPLES, Run, conv_net, detector_net, masked_net, product_net, tied_net


def results(folder: Path) -> dict:
    return json.loads((folder / "results.json").read_text())


def test_sweep_prints_the_ranking_and_writes_its_files(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    result = run("sweep", model, "--data", data, "-o", "out/deep")
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "out/deep"
    found = results(folder)
    assert found["complete"] is True
    assert found["num_samples"] == SAMPLES
    assert found["metric"] == "sqnr"
    ranking = found["ranking"]
    assert [row["rank"] for row in ranking] == list(range(1, len(ranking) + 1))
    scores = [row["score"] for row in ranking]
    assert scores == sorted(scores)
    assert {"conv0.weight", "conv1.weight", "image"} <= {row["name"] for row in ranking}
    for row in ranking[:20]:
        assert row["name"] in result.stdout
        assert f"{row['score']:.2f} dB" in result.stdout
    assert "calibrating on the samples of --data" in result.stderr
    assert "forward" in (folder / "run.json").read_text()
    page = (folder / "report.html").read_text()
    assert "conv0.weight" in page
    assert '"metric":"sqnr (dB)"' in page.replace('": "', '":"')
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert sorted(path.name for path in folder.iterdir()) == [
        "journal.lock",
        "journal.sqlite",
        "outputs.bin",
        "report.html",
        "results.json",
        "run.json",
    ]


def test_tensors_that_share_a_quantizer_are_one_row(run: Run, tmp_path: Path) -> None:
    onnx.save(tied_net(), tmp_path / "tied.onnx")
    values = np.random.default_rng(1).standard_normal((4, 4)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=values)
    result = run("sweep", "tied.onnx", "--data", "x.npz", "-o", "out")
    assert result.returncode == 0, result.stderr
    assert {"a", "b", "both"} <= {row["name"] for row in results(tmp_path / "out")["ranking"]}
    rows = [line.split() for line in result.stdout.split("\n\n")[0].splitlines()[1:]]
    names = [row[3] for row in rows if row[0] != "~"]
    assert sorted(names) == ["a", "a.w", "b.w", "c.w", "x", "y"]
    assert "shared by 2 more tensors" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("next    bitsweep mix tied.onnx --data x.npz ")


def test_results_are_the_same_bytes_for_every_run_and_number_of_threads(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    texts = set()
    for number, threads in enumerate(["1", "1", "2"]):
        folder = tmp_path / f"out{number}"
        assert (
            run("sweep", model, "--data", data, "--threads", threads, "-o", folder).returncode == 0
        )
        texts.add((folder / "results.json").read_bytes())
    assert len(texts) == 1


def test_what_threads_do_at_the_same_time_can_be_chosen(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    arguments = ["sweep", model, "--data", data, "-o", "out", "--threads", "2", "--thread-use"]
    notes = {}
    for use in ("states", "runs", "measured"):
        result = run(*arguments, use)
        assert result.returncode == 0, result.stderr
        notes[use] = [line for line in result.stderr.splitlines() if "threads" in line]
        # Answers of runs that threads shared are not taken for those of runs they did not share.
        if use != "measured":
            assert run_info(tmp_path / "out")["num_kept"] == 0
    assert notes["states"] == notes["runs"] == []
    assert len(notes["measured"]) == 1
    assert "states of their own" in notes["measured"][0] or "faster" in notes["measured"][0]
    wrong = run(*arguments, "all")
    assert wrong.returncode != 0
    for use in notes:
        assert use in wrong.stderr


def test_calibration_gives_the_same_ranges_for_any_number_of_threads(
    run: Run, tmp_path: Path
) -> None:
    onnx.save(product_net(), tmp_path / "product.onnx")
    x = np.random.default_rng(5).standard_normal((16, 40, 240)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    texts = set()
    for threads in ["1", "2"]:
        folder = tmp_path / f"out{threads}"
        arguments = ["sweep", "product.onnx", "--data", "x.npz", "--threads", threads, "-o", folder]
        assert run(*arguments).returncode == 0
        texts.add((folder / "results.json").read_bytes())
    assert len(texts) == 1


def test_constant_without_a_finite_value_is_left_in_float(run: Run, tmp_path: Path) -> None:
    onnx.save(masked_net(), tmp_path / "masked.onnx")
    np.savez(tmp_path / "x.npz", x=np.ones((2, 4), np.float32))
    done = run("sweep", "masked.onnx", "--data", "x.npz", "-o", "out")
    assert done.returncode == 0, done.stderr
    names = [row["name"] for row in results(tmp_path / "out")["ranking"]]
    assert "minus_infinity" not in names
    assert "w" in names


def test_reuse_changes_the_cost_and_not_the_scores(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    for name, flags in (("with", []), ("without", ["--no-reuse"])):
        assert run("sweep", model, "--data", data, "-o", name, *flags).returncode == 0
    with_reuse = results(tmp_path / "with")["ranking"]
    without = results(tmp_path / "without")["ranking"]
    assert [row["name"] for row in with_reuse] == [row["name"] for row in without]
    # Other fusions of the runtime change the last bits only.
    tolerance_db = 1e-3
    for one, other in zip(with_reuse, without, strict=True):
        if one["score"] < 80:
            assert one["score"] == pytest.approx(other["score"], abs=tolerance_db)


def test_groups_by_operator_are_named_after_operators(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    result = run("sweep", model, "--data", data, "--group", "op", "-o", "out", "--metric", "mse")
    assert result.returncode == 0, result.stderr
    found = results(tmp_path / "out")
    assert "conv0" in {row["name"] for row in found["ranking"]}
    scores = [row["score"] for row in found["ranking"]]
    assert scores == sorted(scores, reverse=True)
    assert "Conv" in result.stdout


def test_samples_and_calibration_data_are_chosen(
    run: Run, model: Path, data: Path, images: np.ndarray, tmp_path: Path
) -> None:
    np.savez(tmp_path / "calibration.npz", image=images[:2])
    result = run(
        "sweep", model, "--data", data, "--samples", "3",
        "--calibration-data", "calibration.npz", "-o", "out",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "calibrating on the samples" not in result.stderr
    assert "calibration.npz, 2 samples" in result.stdout
    assert results(tmp_path / "out")["num_samples"] == 3


def test_every_layout_of_the_same_samples_gives_the_same_scores(
    run: Run, model: Path, data: Path, images: np.ndarray, tmp_path: Path
) -> None:
    np.savez_compressed(tmp_path / "compressed.npz", image=images, label=np.array(["cat"]))
    for index, image in enumerate(images):
        (tmp_path / "npy").mkdir(exist_ok=True)
        np.save(tmp_path / "npy" / f"{index}.npy", np.asfortranarray(image))
        (tmp_path / "npz").mkdir(exist_ok=True)
        np.savez(tmp_path / "npz" / f"{index}.npz", image=image[None])
        folder = tmp_path / "sets" / f"test_data_set_{index}"
        folder.mkdir(parents=True)
        tensor = onnx.numpy_helper.from_array(image[None], "image")
        (folder / "input_0.pb").write_bytes(tensor.SerializeToString())
    rankings = []
    for number, layout in enumerate((data, "compressed.npz", "npy", "npz", "sets")):
        result = run("sweep", model, "--data", layout, "-o", f"out{number}")
        assert result.returncode == 0, result.stderr
        rankings.append(results(tmp_path / f"out{number}")["ranking"])
    assert all(ranking == rankings[0] for ranking in rankings)


def test_unused_arrays_are_named(run: Run, model: Path, images: np.ndarray, tmp_path: Path) -> None:
    np.savez(tmp_path / "labelled.npz", image=images, label=np.arange(SAMPLES))
    result = run("sweep", model, "--data", "labelled.npz", "-o", "out")
    assert result.returncode == 0
    assert "not used, because no model input has the name: label" in result.stderr


def test_json_progress_counts_up_to_the_total(run: Run, model: Path, data: Path) -> None:
    result = run("sweep", model, "--data", data, "-o", "out", "--progress", "json")
    lines = [json.loads(line) for line in result.stderr.splitlines() if line.startswith("{")]
    assert {line["phase"] for line in lines} == {"calibrate", "sweep"}
    for phase in ("calibrate", "sweep"):
        last = [line for line in lines if line["phase"] == phase][-1]
        assert last["done"] == last["total"] > 0


def test_no_progress_and_no_bar_outside_a_terminal(run: Run, model: Path, data: Path) -> None:
    result = run("sweep", model, "--data", data, "-o", "out", "--progress", "none")
    assert all(line.startswith("note: ") for line in result.stderr.splitlines())
    assert "\r" not in run("sweep", model, "--data", data, "-o", "out").stderr


@pytest.fixture
def long_run(tmp_path: Path) -> list[str]:
    """A sweep that takes far longer than the test waits."""
    onnx.save(conv_net(channels=48, blocks=12), tmp_path / "long.onnx")
    random = np.random.default_rng(1)
    np.savez(
        tmp_path / "long.npz", image=random.standard_normal((4000, 3, 8, 8)).astype(np.float32)
    )
    return ["sweep", "long.onnx", "--data", "long.npz", "--calibration-samples", "2", "-o", "out"]


def wait_for(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    pytest.fail(f"the command ended without writing {words!r}")


def test_interrupt_saves_what_was_measured_and_exits_with_130(
    command: Path, environment: dict[str, str], long_run: list[str], tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [command, *long_run, "--progress", "json"],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    # Some samples are through all states.
    wait_for(process, '"worst"')
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopping after the running evaluations" in stderr
    assert "what was measured is saved, and the same command continues" in stderr
    found = results(tmp_path / "out")
    assert found["complete"] is False
    assert 0 < found["num_samples"] < 4000
    assert found["ranking"][0]["name"] in stdout
    assert (tmp_path / "out" / "report.html").exists()


def test_second_interrupt_quits_at_once(
    command: Path, environment: dict[str, str], long_run: list[str], tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [command, *long_run, "--progress", "json", "--no-reuse"],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for(process, '"phase"')
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def run_info(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_text())


def test_killed_sweep_continues_by_itself_and_ends_with_the_same_bytes(
    command: Path, environment: dict[str, str], long_run: list[str], run: Run, tmp_path: Path
) -> None:
    arguments = [*long_run, "--samples", "40"]
    process = subprocess.Popen(
        [command, *arguments, "--progress", "json"],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for(process, '"worst"')
    process.kill()
    process.communicate(timeout=60)
    continued = run(*arguments)
    assert continued.returncode == 0, continued.stderr
    assert "note: continued: " in continued.stderr
    assert run_info(tmp_path / "out")["num_kept"] > 0
    arguments[arguments.index("out")] = "cold"
    cold = run(*arguments, "--threads", "1")
    assert cold.returncode == 0, cold.stderr
    assert (tmp_path / "out/results.json").read_bytes() == (
        tmp_path / "cold/results.json"
    ).read_bytes()


def test_second_command_on_a_folder_in_use_is_told(
    command: Path, environment: dict[str, str], long_run: list[str], run: Run, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [command, *long_run, "--progress", "json"],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_for(process, '"worst"')
        second = run(*long_run)
        assert second.returncode == 1
        assert f"in use by another sweep (process {process.pid})" in second.stderr
        assert second.stderr.count("error:") == 1
    finally:
        process.kill()
        process.communicate(timeout=60)


def test_another_metric_needs_no_run(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    for metric in ("sqnr", "kl"):
        result = run("sweep", model, "--data", data, "-o", "out", "--metric", metric)
        assert result.returncode == 0, result.stderr
    assert run_info(tmp_path / "out")["num_runs"] == 0
    assert run("sweep", model, "--data", data, "-o", "cold", "--metric", "kl").returncode == 0
    assert results(tmp_path / "out")["ranking"] == results(tmp_path / "cold")["ranking"]


def test_forecast_comes_before_the_work(run: Run, model: Path, data: Path) -> None:
    result = run("sweep", model, "--data", data, "-o", "out", "--progress", "json")
    lines = result.stderr.splitlines()
    forecast = next(i for i, line in enumerate(lines) if "evaluations, about" in line)
    assert f"on {SAMPLES} samples" in lines[forecast]
    assert any('"phase":"sweep"' in line for line in lines[forecast:])
    assert not any('"phase":"sweep"' in line for line in lines[:forecast])
    assert "float passes per sample" in result.stdout


def test_modes_choices_metrics_and_interactions(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    result = run(
        "sweep", model, "--data", data, "-o", "out", "--mode", "disable_one", "--only", "weights",
        "--include", "conv*", "--also", "mse", "--combine", "mean",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    found = results(tmp_path / "out")
    assert found["mode"] == "disable_one"
    assert {row["name"] for row in found["ranking"]} == {"conv0.weight", "conv1.weight"}
    assert found["more_metrics"][0]["metric"] == "mse"
    assert "by mse: conv" in result.stdout

    result = run("sweep", model, "--data", data, "-o", "out", "--interactions")
    assert result.returncode == 0, result.stderr
    pairs = results(tmp_path / "out")["interactions"][0]["strongest_pairs"]
    assert pairs[0]["first"] in result.stdout

    result = run("sweep", model, "--data", data, "-o", "out", "--include", "nothing*")
    assert result.returncode == 2
    assert "no quantizer" in result.stderr


def test_names_of_hundreds_of_characters_are_cut_in_the_table_only(
    run: Run, data: Path, tmp_path: Path
) -> None:
    net = conv_net()
    long = "convolution;" * 30
    net.graph.initializer[0].name = net.graph.node[0].input[1] = long
    onnx.save(net, tmp_path / "long.onnx")
    result = run("sweep", "long.onnx", "--data", data, "-o", "out", "--also", "mse")
    assert result.returncode == 0, result.stderr
    assert max(len(line) for line in result.stdout.splitlines()) < 250
    assert "convolution;" in result.stdout
    assert "long names are cut" in result.stdout
    assert long in {row["name"] for row in results(tmp_path / "out")["ranking"]}


def test_a_group_that_changes_the_size_of_an_output_scores_worst(run: Run, tmp_path: Path) -> None:
    onnx.save(detector_net(), tmp_path / "detector.onnx")
    boxes = np.random.default_rng(3).uniform(-1, 1, (2, 64, 4)).astype(np.float32)
    np.savez(tmp_path / "boxes.npz", x=boxes)
    result = run("sweep", "detector.onnx", "--data", "boxes.npz", "-o", "out", "--bits", "W4A4")
    assert result.returncode == 0, result.stderr
    scores = {row["name"]: row["score"] for row in results(tmp_path / "out")["ranking"]}
    assert scores["score.weight"] == -100.0
    assert scores["box.weight"] > 0.0
    assert "-100 dB: outputs that are NaN, infinite, of another size" in result.stdout


def test_predictions_of_whole_configurations(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    result = run(
        "sweep", model, "--data", data, "-o", "out",
        "--predict", "conv0.weight", "--predict", "conv*.weight,relu*",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    found = results(tmp_path / "out")
    alone = next(row["score"] for row in found["ranking"] if row["name"] == "conv0.weight")
    assert f"{alone:.2f} dB with 1 group;" in found["facts"]["predicted for conv0.weight"]
    together = found["facts"]["predicted for conv*.weight,relu*"]
    assert float(together.split()[0]) < alone
    assert "conv*.weight,relu*" in result.stdout
    assert "pairs whose errors" not in result.stdout  # only with --interactions
    shown = run(
        "sweep", model, "--data", data, "-o", "out", "--interactions", "--pairs", "1"
    ).stdout
    assert sum(" and " in line for line in shown.splitlines() if line.lstrip()[:1] in "+-") == 1

    for bad, reason in [
        (["--predict", "conv0.weight,nothing*"], 'named "nothing\\*"'),
        (["--predict", "*", "--metric", "kl"], "does not follow from squared errors"),
        (["--predict", "*", "--mode", "cumulative"], "use the mode enable_one"),
    ]:
        result = run("sweep", model, "--data", data, "-o", "bad", *bad)
        assert result.returncode != 0
        assert re.search(reason, result.stderr)


def test_groups_by_a_part_of_the_name(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    result = run("sweep", model, "--data", data, "-o", "out", "--group", r"\.(weight|bias)$")
    assert result.returncode == 0, result.stderr
    assert {row["name"] for row in results(tmp_path / "out")["ranking"]} <= {"weight", "bias"}
    assert " quantizer" in result.stdout

    result = run("sweep", model, "--data", data, "-o", "out", "--group", "no such name")
    assert result.returncode == 2
    assert 'no name of a quantizer holds "no such name"' in result.stderr

    result = run("sweep", model, "--data", data, "-o", "out", "--group", "(")
    assert result.returncode == 2
    assert "--group ( is no regular expression" in result.stderr


def test_until_stable_says_what_it_found_and_what_it_cost(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    result = run("sweep", model, "--data", data, "-o", "out", "--until", "stable", "--top", "20")
    assert result.returncode == 0, result.stderr
    found = results(tmp_path / "out")["stability"]
    assert len(found["selected"]) == -(-len(results(tmp_path / "out")["ranking"]) // 5)
    assert f"after {found['num_evaluations']} of" in result.stdout


def test_labels_are_read_from_the_data_or_a_file(
    run: Run, model: Path, images: np.ndarray, tmp_path: Path
) -> None:
    labels = np.arange(SAMPLES) % 4
    # logits are [n,4,1,1]: the last axis has one class, so only label 0 fits.
    np.savez(tmp_path / "both.npz", image=images, truth=np.zeros((SAMPLES, 4), np.int64))
    result = run(
        "sweep", model, "--data", "both.npz", "--labels", "truth", "--metric", "accuracy",
        "-o", "out",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert results(tmp_path / "out")["float_score"] == 1.0
    assert "not used" not in result.stderr
    np.save(tmp_path / "labels.npy", labels)
    result = run(
        "sweep", model, "--data", "both.npz", "--labels", "labels.npy", "--metric", "accuracy",
        "-o", "out",
    )  # fmt: skip
    assert result.returncode == 1
    assert "has 4 rows and the sample 1 labels" in result.stderr
    result = run("sweep", model, "--data", "both.npz", "--metric", "accuracy", "-o", "out")
    assert result.returncode == 2
    assert "both.npz holds: truth" in result.stderr
