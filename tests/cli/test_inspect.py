"""bitsweep inspect: every tensor with what decided."""

from __future__ import annotations

import json
from pathlib import Path

from cli_support import Run


def test_every_tensor_is_listed_with_a_reason(run: Run, model: Path) -> None:
    result = run("inspect", model, "--json")
    assert result.returncode == 0, result.stderr
    listing = json.loads(result.stdout)
    rows = {row["tensor"]: row for row in listing["tensors"]}
    expected = {"image", "logits"}
    for block in range(2):
        expected |= {f"conv{block}.{kind}" for kind in ("weight", "bias", "out")}
        expected.add(f"relu{block}.out")
    assert expected <= rows.keys()
    assert rows["conv0.weight"]["role"] == "parameter"
    assert rows["conv0.weight"]["status"] == "quantized"
    assert "int8" in rows["conv0.weight"]["format"]
    assert all(row["reason"] or row["tied_to"] for row in rows.values())
    assert sum(listing["counts"].values()) == len(listing["tensors"])
    assert listing["inputs"] == [{"name": "image", "type": "float32", "shape": "[n,3,8,8]"}]


def test_table_shows_the_same_as_json(run: Run, model: Path) -> None:
    listing = json.loads(run("inspect", model, "--json").stdout)
    text = run("inspect", model).stdout
    for row in listing["tensors"]:
        line = next(line for line in text.splitlines() if line.split()[:1] == [row["tensor"]])
        assert row["status"] in line
        assert row["reason"] in line
    for status, count in listing["counts"].items():
        assert f"{count} {status}" in text


def test_bits_change_the_formats(run: Run, model: Path) -> None:
    listing = json.loads(run("inspect", model, "--bits", "W4A16", "--json").stdout)
    rows = {row["tensor"]: row for row in listing["tensors"]}
    assert "int4" in rows["conv0.weight"]["format"]
    assert "int16" in rows["image"]["format"]


def test_granularity_comes_with_the_bits(run: Run, model: Path) -> None:
    result = run("inspect", model, "--bits", "W4A8@block4", "--json")
    assert result.returncode == 0, result.stderr
    rows = {row["tensor"]: row for row in json.loads(result.stdout)["tensors"]}
    assert "block" in rows["conv1.weight"]["format"]
    # Its three input channels are no whole number of blocks.
    assert "block" not in rows["conv0.weight"]["format"]
    assert result.stderr == (
        'note: not in blocks of 4, which do not divide the input channels: "conv0.weight"\n'
    )


def test_a_granularity_that_no_weight_can_have_is_refused(run: Run, model: Path) -> None:
    result = run("inspect", model, "--bits", "W4A8@block7")
    assert result.returncode == 2
    assert "no weight of the model can be quantized block7" in result.stderr
