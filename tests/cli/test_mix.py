"""bitsweep mix: chosen configuration, curve, exported model, bad input."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from cli_support import Run, cached_net, two_input_net


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
        "journal.lock",
        "journal.sqlite",
        "model.encodings",
        "model.qdq.onnx",
        "outputs.bin",
        "policy.json",
    ]
    policy = json.loads((folder / "policy.json").read_text())
    assert policy["costs"]["bops"] <= 0.6
    assert policy["tensors"]["conv0.weight"] in ("int4", "int8")
    rows = list(csv.DictReader((folder / "frontier.csv").read_text().splitlines()))
    costs = [float(row["bops"]) for row in rows]
    quality = [float(row["expected_sqnr_db"]) for row in rows]
    assert costs == sorted(costs)
    assert quality == sorted(quality)
    assert len(json.loads((folder / "frontier.json").read_text())) == len(rows)
    assert "chosen" in result.stdout
    assert "test data" in result.stdout
    session = ort.InferenceSession(folder / "model.qdq.onnx", providers=["CPUExecutionProvider"])
    image = np.load(data)["image"][:1]
    assert session.run(None, {"image": image})[0].shape == (1, 4, 1, 1)
    onnx.checker.check_model(onnx.load(folder / "model.qdq.onnx"))


def test_progress_goes_from_step_to_step_and_counts_the_mixes(
    run: Run, model: Path, data: Path
) -> None:
    result = run("mix", model, "--data", data, "--candidates", "W8A8,W4A8", "--points", "4",
                 "--progress", "json", "-o", "out")  # fmt: skip
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in result.stderr.splitlines() if line.startswith("{")]
    phases = list(dict.fromkeys(line["phase"] for line in lines))
    assert phases == ["calibrate", "measure groups", "measure mixes"]
    assert [line["phase"] for line in lines] == sorted(
        (line["phase"] for line in lines), key=phases.index
    )
    mixes = [line["done"] for line in lines if line["phase"] == "measure mixes"]
    assert mixes == sorted(mixes)


def test_a_target_whose_kernels_take_no_candidate_names_the_operator(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    kernel = {
        "activation": {"bitwidth": 16, "dtype": "int"},
        "param": {"bitwidth": 8, "dtype": "int"},
    }
    rules = {"defaults": {"ops": {"is_output_quantized": "True"}, "params": {"is_quantized": "True"},
                          "supported_kernels": [kernel]},
             "params": {}, "op_type": {"Conv": {"supported_kernels": [kernel]}}, "supergroups": [],
             "model_input": {"is_input_quantized": "True"}, "model_output": {}}  # fmt: skip
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    result = run("mix", model, "--data", data, "--candidates", "W8A8,W4A8@block2", "--rules", "rules.json",
                 "--points", "0", "-o", "out")  # fmt: skip
    assert result.returncode == 2
    (error,) = [line for line in result.stderr.splitlines() if line.startswith("error")]
    assert "supported for Conv" in error
    assert "int16/int8" in error


def test_limits_that_are_possible_one_by_one_but_not_together_are_infeasible(
    run: Run, model: Path, data: Path
) -> None:
    result = run("mix", model, "--data", data, "--candidates", "W8A4,W4A16", "--target", "bops<=0.55",
                 "--target", "bytes<=220B", "--points", "0", "-o", "out")  # fmt: skip
    assert result.returncode == 1
    assert "infeasible: " in result.stderr


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
        (["--candidates", "W8A8@block7"], "input channels"),
        (["--candidates", "W8A8@blocks"], "granularity"),
        (["--candidates", "W8A8@best"], "best"),
        (["--candidates", "W8A8", "--target", "bops<=7"], "out of range"),
        (["--candidates", "W8A8", "--pin", "conv0.weight"], "pin"),
        (["--candidates", "W8A8", "--pin", "nobody=W8A8"], "nobody"),
        (["--candidates", "W8A8", "--cost", "euros"], "euros"),
        (["--candidates", "W8A8", "--target", "latency<=5"], "has no table"),
        (["--candidates", "W8A8", "--check", "beauty"], "beauty"),
        (["--candidates", "W8A8", "--check", "accuracy"], "labels"),
        (["--candidates", "W8A8", "--labels", "image"], "no check compares with the labels"),
        (["--candidates", "W8A8", "--test-labels", "truth.npy"], "--test-data"),
    ],
)
def test_bad_input_exits_with_2_and_one_sentence(
    run: Run, model: Path, data: Path, arguments: list[str], words: str
) -> None:
    result = run("mix", model, "--data", data, "-o", "out", *arguments)
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_outputs_that_do_not_count_hold_nothing_back(run: Run, tmp_path: Path) -> None:
    onnx.save(cached_net(), tmp_path / "cached.onnx")
    rows = np.random.default_rng(5).standard_normal((8, 16)).astype(np.float32)
    np.savez(tmp_path / "rows.npz", x=rows, past=rows)
    words = ["mix", "cached.onnx", "--data", "rows.npz", "--candidates", "W8A16,W4A16",
             "--target", "sqnr>=35", "--points", "0", "-o", "out"]  # fmt: skip
    result = run(*words, "--outputs", "logits")
    assert result.returncode == 0, result.stderr
    tensors = json.loads((tmp_path / "out/policy.json").read_text())["tensors"]
    assert tensors["logits.weight"] == "int8"
    assert tensors["cache.weight"] == "int4"
    assert "outputs logits" in result.stdout
    result = run(*words, "--outputs", "logit")
    assert result.returncode == 2
    assert 'did you mean "logits"?' in result.stderr


def test_another_budget_runs_only_what_is_new(run: Run, model: Path, data: Path) -> None:
    work = []
    for target in ("bops<=0.6", "bops<=0.6", "bops<=0.5"):
        result = run("mix", model, "--data", data, "--candidates", "W8A8,W8A16,W4A8", "--target", target,
                     "--points", "0", "-o", "out")  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert ("continuing with what was run" in result.stderr) == bool(work)
        work.append(re.search(r"(\d+) runs? of samples, (\d+) known before", result.stdout))
    runs = [int(w[1]) for w in work if w]
    assert runs[0] > 0
    assert runs[1] == 0
    assert runs[2] < runs[0] / 2


def test_quantize_export_and_sweep_take_the_policy(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    assert run("mix", model, "--data", data, "--candidates", "W8A8,W8A16,W4A8", "--target", "bops<=0.6",
               "--points", "0", "-o", "out").returncode == 0  # fmt: skip
    policy = tmp_path / "out" / "policy.json"
    types = json.loads(policy.read_text())["tensors"]
    result = run("quantize", model, "--data", data, "--policy", policy, "-o", "quantized.onnx")
    assert result.returncode == 0, result.stderr
    quantized = onnx.load(tmp_path / "quantized.onnx")
    codes = {t.name: t.data_type for t in quantized.graph.initializer}
    wanted = {"int4": onnx.TensorProto.INT4, "int8": onnx.TensorProto.INT8}[types["conv0.weight"]]
    assert wanted in codes.values()
    (tmp_path / "exported").mkdir()
    result = run("export", model, "--data", data, "--policy", policy, "-o", "exported")
    assert result.returncode == 0, result.stderr
    encodings = json.loads(next((tmp_path / "exported").glob("*.encodings")).read_text())
    bits = {e["name"]: e["bw"] for e in encodings["param_encodings"]}
    assert bits["conv0.weight"] == int(types["conv0.weight"].removeprefix("int"))
    assert run("sweep", model, "--data", data, "--policy", policy, "-o", "swept").returncode == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read"),
        ("{}", "no policy"),
        ("[", "no policy"),
        ('{"kind": "bitsweep mix policy", "version": 9}', "another version"),
        ('{"kind": "bitsweep mix policy", "version": 1, "model_sha256": "0"}', "another model"),
    ],
)
def test_bad_policy_is_one_sentence(
    run: Run, model: Path, data: Path, tmp_path: Path, content: str | None, words: str
) -> None:
    if content is not None:
        (tmp_path / "policy.json").write_text(content)
    result = run("quantize", model, "--data", data, "--policy", "policy.json", "-o", "q.onnx")
    assert result.returncode != 0
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_latency_table_is_a_cost(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "target.csv").write_text(
        "operator,shape,weights,activations,ms\nConv,*,int8,int16,2\nConv,*,int8,int8,1\n"
    )
    result = run("mix", model, "--data", data, "--candidates", "W8A8,W8A16", "--latency-table", "target.csv",
                 "--target", "latency<=3", "--cost", "latency", "--points", "3", "-o", "out")  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "latency 3" in result.stdout or "latency 2" in result.stdout
    assert "no rows for" in result.stdout
    assert json.loads((tmp_path / "out" / "policy.json").read_text())["costs"]["latency"] <= 3
    header = (tmp_path / "out" / "frontier.csv").read_text().splitlines()[0]
    assert header.endswith(",latency")
    missing = run(
        "mix",
        model,
        "--data",
        data,
        "--candidates",
        "W8A8",
        "--latency-table",
        "nobody.csv",
        "-o",
        "out",
    )
    assert missing.returncode == 1
    assert '"nobody.csv" cannot be read' in missing.stderr


def test_labels_check_the_choice_on_samples_that_were_kept_apart(run: Run, tmp_path: Path) -> None:
    onnx.save(two_input_net(), tmp_path / "two.onnx")
    rng = np.random.default_rng(2)
    arrays = {name: rng.normal(size=(8, 4)).astype(np.float32) for name in ("x", "mask")}
    np.savez(tmp_path / "two.npz", **arrays, truth=np.arange(8) % 2)
    result = run("mix", "two.onnx", "--data", "two.npz", "--candidates", "W8A8,float", "--target", "bops<=1",
                 "--points", "0", "--labels", "truth", "--check", "accuracy", "--check", "mse",
                 "-o", "out")  # fmt: skip
    assert result.returncode == 0, result.stderr
    checks = [line for line in result.stdout.splitlines() if line.startswith("check")]
    assert re.fullmatch(r"check +accuracy \S+ on test data, \S+ of the float model", checks[0])
    assert checks[1].startswith("check   mse")
    assert set(json.loads((tmp_path / "out" / "policy.json").read_text())["checks"]) == {
        "accuracy",
        "mse",
    }
