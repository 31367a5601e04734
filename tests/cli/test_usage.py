"""Help, version, lists, and command lines that make no sense."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_support import Run


def test_version_and_help_end_with_success(run: Run) -> None:
    assert run("--version").stdout.startswith("bitsweep ")
    for arguments in (
        ["--help"],
        ["sweep", "--help"],
        ["inspect", "--help"],
        ["metrics", "--help"],
    ):
        result = run(*arguments)
        assert result.returncode == 0
        assert "Usage: bitsweep" in result.stdout


def test_metrics_lists_every_metric_with_unit_and_direction(run: Run) -> None:
    table = run("metrics").stdout
    rows = json.loads(run("metrics", "--json").stdout)
    assert {row["name"] for row in rows} >= {"sqnr", "psnr", "topk_logit_psnr", "mse", "kl"}
    for row in rows:
        assert row["name"] in table
        assert row["summary"] in table
        assert row["better"] in ("higher", "lower")


WORDS = ("m.onnx", "--data", "d", "-o", "o")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            [],
            "no command is given; use one of: sweep, analyze, mix, inspect, prepare, quantize, export, verify, metrics",
        ),
        (["sweeep"], 'no command is named "sweeep"; did you mean "sweep"?'),
        (["sweep"], "required"),
        (["sweep", "m.onnx", "-o", "out"], "--data is required"),
        (["sweep", "m.onnx", "--data", "d.npz"], "--output is required"),
        (["sweep", "m.onnx", "--data", "d", "-o", "o", "--group", "("], "no regular expression"),
        (["sweep", "m.onnx", "--data", "d", "-o", "o", "--samples", "0"], "--samples"),
        (["sweep", "m.onnx", "--data", "d", "-o", "o", "--typo"], "sweep has no --typo; see"),
        (["sweep", "m.onnx", "--dta=d", "-o", "o"], "sweep has no --dta; did you mean --data?"),
        (
            ["sweep", "m.onnx", "--data", "d", "-o", "o", "w.onnx"],
            'no further word such as "w.onnx"',
        ),
        (
            ["sweep", "m.onnx", "--data", "d", "-o", "o", "--mode", "enable"],
            'no choice is named "enable"',
        ),
        (["sweep", "m.onnx", "--data", "d", "-o", "o", "--metric", "sqrn"], 'did you mean "sqnr"?'),
        (
            ["mix", "m.onnx", "--data", "d", "-o", "o", "--candidates", "W8A8", "--cost", "bop"],
            'did you mean "bops"?',
        ),
        (["sweep", "m.onnx", "--data", "d", "-o", "o", "--bits", "8x8"], "no choice of bit-widths"),
        (["sweep", "m.onnx", "--data", "d", "-o", "o", "--bits", "W1A8"], "1"),
        (["sweep", "m.onnx", "--data", "d", "-o", "o", "--max-memory", "lots"], "800MB"),
        (
            ["sweep", "m.onnx", "--data", "d", "-o", "o", "--metric", "snr"],
            "use one of: accuracy, cosine",
        ),
        (["sweep", "m.onnx", "--data", "d", "-o", "o", "--scheme", "tff"], "tff"),
        (["sweep", *WORDS, "--threads", "x"], '--threads: "x" is no whole number from 0 to 4096'),
        (["sweep", *WORDS, "--samples", "-1"], '"-1" is no whole number of at least 1'),
        (["sweep", *WORDS, "--until", "stable", "--threshold", "low"], '"low" is no number'),
        (["sweep", *WORDS, "--until", "stable", "--top", "101"], "above 0 and at most 100"),
        (["sweep", *WORDS, "--top", "5"], "--top requires --until"),
        (["sweep", *WORDS, "--pairs", "3"], "--pairs requires --interactions"),
        (["sweep", *WORDS, "--pairs", "0"], '"0" is no whole number from 1 to'),
        (["mix", *WORDS, "--candidates", "W8A8", "--tolerance", "0"], '"0" is no number above 0'),
        (["mix", *WORDS, "--candidates", "W8A8", "--target", "bobs<=1"], 'did you mean "bops"?'),
        (["mix", *WORDS, "--candidates", "W8A8", "--target", "sqn>=1"], 'did you mean "sqnr"?'),
        (["mix", *WORDS, "--candidates", "W8A8@per_chanel"], 'did you mean "per_channel"?'),
        (["mix", *WORDS, "--candidates", "W8A8,flot"], 'did you mean "float"?'),
        (["quantize", *WORDS, "--target", "ort_gpu"], 'did you mean "ort_cpu"?'),
        (["export", *WORDS, "--encodings-version", "3"], 'no choice is named "3"'),
        (["quantize", *WORDS, "--labels", "l"], "quantize has no --labels"),
        (["verify", "m.onnx", "q.onnx", "--data", "d", "--labels", "l"], "verify has no --labels"),
    ],
)
def test_wrong_command_line_exits_with_2_and_one_line(
    run: Run, arguments: list[str], words: str
) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_unknown_output_name_lists_the_outputs(run: Run, model: Path, data: Path) -> None:
    result = run("sweep", model, "--data", data, "-o", "out", "--outputs", "probabilities")
    assert result.returncode == 2
    assert 'no output of the model is named "probabilities"; use one of: logits' in result.stderr


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["sweep", "--include", "conv0.wieght"], "conv0.weight"),
        (["sweep", "--predict", "conv0.wieght"], "conv0.weight"),
        (["sweep", "--rules", "defalt"], "default"),
        (["mix", "--candidates", "W8A8,W8A16", "--pin", "imgae=W8A8"], "image"),
        (["mix", "--candidates", "W8A8,W8A16", "--same", "image,relu0.uot"], "relu0.out"),
    ],
)
def test_mistyped_name_gets_the_closest_one(
    run: Run, model: Path, data: Path, arguments: list[str], near: str
) -> None:
    command, *words = arguments
    result = run(command, model, "--data", data, "-o", "out", *words)
    assert result.returncode != 0
    assert f'did you mean "{near}"?' in result.stderr.splitlines()[-1]
