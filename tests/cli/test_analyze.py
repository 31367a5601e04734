"""bitsweep analyze: the analyses of the reference's QuantAnalyzer from the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli_support import SAMPLES, Run, cached_net
from onnx import TensorProto, helper, numpy_helper

PAGES = ("per_layer_quant_enabled", "per_layer_quant_disabled", "per_layer_mse_loss")


def layers(folder: Path, name: str) -> dict[str, float]:
    return json.loads((folder / f"{name}.json").read_text())


def page_data(page: Path) -> dict:
    found = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    return json.loads(found[1])


def linked_pages(page: Path) -> list[str]:
    links = [file for file, _ in page_data(page)["intro"]["links"]]
    assert {"min_max_ranges/activations.html", "weights_pdf/"} <= set(links)
    return links


def test_every_analysis_leaves_numbers_and_a_page(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    result = run("analyze", model, "--data", data, "-o", "out")
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "out"
    alone, others, mse = (layers(folder, name) for name in PAGES)
    assert list(alone) == list(others)
    assert set(mse) <= set(alone)
    for name in PAGES:
        assert (folder / f"{name}.html").is_file()
    whole = re.search(
        r"model +(\S+) dB with weights only, (\S+) dB with activations only, (\S+) dB",
        result.stdout,
    )
    assert whole
    weights, activations, everything = (float(text) for text in whole.groups())
    # A layer adds to the noise: less of it alone than with all, less without it than with it.
    assert min(weights, activations) > everything
    assert min(alone.values()) > everything
    assert max(others.values()) > everything
    assert all(error > 0 for error in mse.values())
    rows = [line for line in result.stdout.splitlines() if line.endswith("conv0")]
    assert f"{alone['conv0']:.2f} dB" in rows[0]
    assert f"{others['conv0']:.2f} dB" in rows[0]
    ranges = json.loads((folder / "min_max_ranges" / "activations.json").read_text())
    low, high = ranges["conv0_input_0"]
    image = np.load(data)["image"][:SAMPLES]
    assert low <= 0 < high <= float(image.max()) * 1.1
    assert (folder / "min_max_ranges" / "weights.json").is_file()
    assert (folder / "activations_pdf" / "conv0_input_q0.html").is_file()
    assert (folder / "weights_pdf" / "conv0" / "conv0_weight.html").is_file()
    for page in linked_pages(folder / "index.html"):
        assert (folder / page).exists()
    again = run("analyze", model, "--data", data, "-o", "out")
    assert again.stdout == result.stdout


def test_a_scheme_without_histograms_gets_no_pages_of_them(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    result = run("analyze", model, "--data", data, "--scheme", "min_max", "--metric", "mse", "-o", "out")  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "lower is better" in result.stdout
    assert not (tmp_path / "out" / "weights_pdf").exists()
    assert max(layers(tmp_path / "out", PAGES[0]).values()) < 1


def test_batch_norms_become_part_of_their_layers(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    values = {"w": rng.normal(size=(3, 2, 3, 3)), "s": rng.uniform(1, 2, 3), "b": rng.normal(size=3),
              "m": rng.normal(size=3), "v": rng.uniform(1, 2, 3)}  # fmt: skip
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["h"], "conv"),
            helper.make_node("BatchNormalization", ["h", "s", "b", "m", "v"], ["y"], "norm"),
        ],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, 6, 6])],
        [numpy_helper.from_array(v.astype(np.float32), n) for n, v in values.items()],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
        tmp_path / "norm.onnx",
    )
    np.savez(tmp_path / "x.npz", x=rng.normal(size=(4, 2, 8, 8)).astype(np.float32))
    result = run("analyze", "norm.onnx", "--data", "x.npz", "-o", "out")
    assert result.returncode == 0, result.stderr
    assert "1 batch norm folded" in result.stderr
    assert list(layers(tmp_path / "out", PAGES[0])) == ["conv"]


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["--metric", "beauty"], "beauty", 2),
        (["--metric", "accuracy"], "labels", 2),
        (["--scheme", "best"], "no scheme is named", 2),
        (["--policy", "nobody.json"], "nobody.json", 1),
        (["-o", "file/out"], "cannot be written", 1),
    ],
)
def test_bad_input_is_one_sentence(
    run: Run, model: Path, data: Path, tmp_path: Path, arguments: list[str], words: str, code: int
) -> None:
    (tmp_path / "file").write_text("")
    output = [] if "-o" in arguments else ["-o", "out"]
    result = run("analyze", model, "--data", data, *output, *arguments)
    assert result.returncode == code, result.stderr
    errors = [line for line in result.stderr.splitlines() if line.startswith("error")]
    assert len(errors) == 1
    assert words in errors[0]


def test_chosen_outputs_alone_are_compared(run: Run, tmp_path: Path) -> None:
    onnx.save(cached_net(), tmp_path / "cached.onnx")
    rows = np.random.default_rng(5).standard_normal((4, 16)).astype(np.float32)
    np.savez(tmp_path / "rows.npz", x=rows, past=rows)
    words = ["analyze", "cached.onnx", "--data", "rows.npz", "-o"]
    assert run(*words, "all").returncode == 0
    result = run(*words, "one", "--outputs", "logits")
    assert result.returncode == 0, result.stderr
    assert "--outputs logits" in result.stdout  # of the command that is suggested
    everything = layers(tmp_path / "all", "per_layer_quant_enabled")
    logits = layers(tmp_path / "one", "per_layer_quant_enabled")
    assert logits["cache_product"] > everything["cache_product"]
    assert 'did you mean "cache"?' in run(*words, "one", "--outputs", "cach").stderr
