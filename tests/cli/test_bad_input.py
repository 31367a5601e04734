"""Bad input: exit code 1, nothing on stdout, and one sentence with what, where and how to fix it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli_support import Run, conv_net, finish, integer_net
from onnx import TensorProto, helper, numpy_helper


def failure(result: subprocess.CompletedProcess[str], *words: str | Path, code: int = 1) -> str:
    """The error line, after checking its form."""
    assert result.returncode == code, result.stderr
    assert result.stdout == ""
    assert "terminate called" not in result.stderr
    errors = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
    assert len(errors) == 1, result.stderr
    assert errors[0].startswith("error: ")
    assert ";" in errors[0], "says how to fix it"
    for word in words:
        assert str(word) in errors[0]
    return errors[0]


def sweep(run: Run, model: str | Path, data: str | Path) -> subprocess.CompletedProcess[str]:
    return run("sweep", model, "--data", data, "-o", "out")


def test_model_that_does_not_exist(run: Run, data: Path) -> None:
    failure(sweep(run, "nowhere.onnx", data), "nowhere.onnx")
    failure(run("inspect", "nowhere.onnx"), "nowhere.onnx")


def test_file_that_is_no_onnx_model(run: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("this is not a model\n" * 20)
    failure(sweep(run, "text.onnx", data), "text.onnx")
    (tmp_path / "empty.onnx").write_bytes(b"")
    failure(sweep(run, "empty.onnx", data), "empty.onnx")
    failure(sweep(run, tmp_path, data), tmp_path)


def test_truncated_model(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    whole = model.read_bytes()
    (tmp_path / "half.onnx").write_bytes(whole[: len(whole) // 2])
    failure(sweep(run, "half.onnx", data), "half.onnx")


def test_missing_external_data(run: Run, data: Path, tmp_path: Path) -> None:
    onnx.save(
        conv_net(), tmp_path / "split.onnx",
        save_as_external_data=True, location="weights.bin", size_threshold=0,
    )  # fmt: skip
    assert sweep(run, "split.onnx", data).returncode == 0
    weights = (tmp_path / "weights.bin").read_bytes()
    (tmp_path / "weights.bin").write_bytes(weights[:40])
    failure(sweep(run, "split.onnx", data), "weights.bin")
    (tmp_path / "weights.bin").unlink()
    failure(sweep(run, "split.onnx", data), "weights.bin")


def test_model_that_onnx_runtime_refuses(run: Run, data: Path, tmp_path: Path) -> None:
    refused = conv_net()
    refused.graph.node[0].op_type = "Convolve"
    onnx.save(refused, tmp_path / "refused.onnx")
    failure(sweep(run, "refused.onnx", data), "Convolve")


def test_model_with_nothing_to_quantize(run: Run, tmp_path: Path) -> None:
    onnx.save(integer_net(), tmp_path / "integers.onnx")
    np.savez(tmp_path / "integers.npz", x=np.zeros((2, 4), np.int64))
    failure(sweep(run, "integers.onnx", "integers.npz"), "quantize")


def test_model_that_already_holds_quantizers(run: Run, data: Path, tmp_path: Path) -> None:
    scale = numpy_helper.from_array(np.float32(0.1), "scale")
    zero = numpy_helper.from_array(np.uint8(0), "zero")
    shape = ["n", 3, 8, 8]
    quantized = finish(
        [
            helper.make_node("QuantizeLinear", ["image", "scale", "zero"], ["q"], name="q"),
            helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"], name="dq"),
        ],
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [scale, zero],
    )
    onnx.save(quantized, tmp_path / "qdq.onnx")
    failure(sweep(run, "qdq.onnx", data), "QuantizeLinear")


def test_missing_and_misnamed_inputs(
    run: Run, model: Path, two_input_model: Path, images: np.ndarray, tmp_path: Path
) -> None:
    np.savez(tmp_path / "misnamed.npz", images=images)
    failure(sweep(run, model, "misnamed.npz"), 'rename "images" to "image"')
    np.savez(tmp_path / "half.npz", x=np.zeros((2, 4), np.float32))
    failure(sweep(run, two_input_model, "half.npz"), 'input "mask"', '"x"')


@pytest.mark.parametrize(
    ("sections", "named"),
    [
        ({"op_types": {}}, "op_types"),
        ({"op_type": {"Conv": {"is_output_quantised": "True"}}}, "is_output_quantised"),
        ({"op_type": {"Conv": {"is_output_quantized": "yes"}}}, "yes"),
        ({"defaults": {"hw_version": "eight"}}, "hw_version"),
        ({"supergroup_pass_list": ["MatMulAdd"]}, "MatMulAdd"),
    ],
)
@pytest.mark.parametrize("verb", ["sweep", "inspect"])
def test_rules_with_an_unknown_key_or_value(
    run: Run, model: Path, data: Path, tmp_path: Path, sections: dict, named: str, verb: str
) -> None:
    (tmp_path / "mine.json").write_text(json.dumps({"extends": "default", **sections}))
    rest = ("--data", data, "-o", "out") if verb == "sweep" else ()
    result = run(verb, model, "--rules", "mine.json", *rest)
    failure(result, "mine.json", named)


def test_rules_that_are_missing_or_no_json(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    failure(run("inspect", model, "--rules", "htp_v99"), "htp_v99", "htp_v81")
    (tmp_path / "broken.json").write_text('{"defaults": ')
    failure(run("inspect", model, "--rules", "broken.json"), "broken.json")


def test_encodings_of_another_model(
    run: Run, model: Path, two_input_model: Path, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    np.savez(tmp_path / "two.npz", x=np.ones((2, 4), np.float32), mask=np.ones((2, 4), np.float32))
    exported = run("export", two_input_model, "--data", "two.npz", "-o", "other", "--prefix", "two")
    assert exported.returncode == 0, exported.stderr
    encodings = tmp_path / "other" / "two.encodings"
    arguments = ("quantize", model, "--data", data, "-o", "q.onnx", "--encodings")
    failure(run(*arguments, encodings), "two.encodings", '"w"')
    encodings.write_bytes(encodings.read_bytes()[:200])
    failure(run(*arguments, encodings), "two.encodings")
    failure(run(*arguments, "nowhere.encodings"), "nowhere.encodings")
    assert not (tmp_path / "q.onnx").exists()


def test_extra_folder_is_named_and_ignored(run: Run, two_input_model: Path, tmp_path: Path) -> None:
    for name in ("x", "mask", "label"):
        (tmp_path / "folders" / name).mkdir(parents=True)
        np.save(tmp_path / "folders" / name / "0.npy", np.ones((1, 4), np.float32))
    result = sweep(run, two_input_model, "folders")
    assert result.returncode == 0, result.stderr
    assert "no model input has the name: label" in result.stderr


def test_wrong_type_rank_and_dimension(
    run: Run, model: Path, images: np.ndarray, tmp_path: Path
) -> None:
    np.savez(tmp_path / "wide.npz", image=images.astype(np.float64))
    failure(sweep(run, model, "wide.npz"), "float64", "astype(np.float32)")
    np.savez(tmp_path / "flat.npz", image=images.reshape(6, -1))
    failure(sweep(run, model, "flat.npz"), "[6,192]", "[n,3,8,8]")
    np.savez(tmp_path / "large.npz", image=np.zeros((6, 3, 9, 8), np.float32))
    failure(sweep(run, model, "large.npz"), "[6,3,9,8]", "8 instead of 9")


def test_data_that_cannot_be_read(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    failure(sweep(run, model, "nowhere.npz"), "nowhere.npz does not exist")
    (tmp_path / "empty.npz").write_bytes(b"")
    failure(sweep(run, model, "empty.npz"), "empty.npz is empty")
    (tmp_path / "text.npz").write_text("no archive")
    failure(sweep(run, model, "text.npz"), "text.npz is not an .npz archive")
    (tmp_path / "half.npz").write_bytes(data.read_bytes()[:3000])
    failure(sweep(run, model, "half.npz"), "half.npz")
    (tmp_path / "folder").mkdir()
    failure(sweep(run, model, "folder"), "is an empty folder")
    np.savez(tmp_path / "none.npz", image=np.zeros((0, 3, 8, 8), np.float32))
    failure(sweep(run, model, "none.npz"), "no samples")
    np.savez(tmp_path / "objects.npz", image=np.array([{"a": 1}], dtype=object))
    failure(sweep(run, model, "objects.npz"), "object")


def test_nan_and_infinity_in_the_data(
    run: Run, model: Path, images: np.ndarray, tmp_path: Path
) -> None:
    images[4, 0, 0, 0] = np.nan
    np.savez(tmp_path / "nan.npz", image=images)
    failure(sweep(run, model, "nan.npz"), 'input "image" holds NaN in sample 4', "nan.npz")
    images[4, 0, 0, 0] = np.inf
    np.savez(tmp_path / "inf.npz", image=images)
    failure(sweep(run, model, "inf.npz"), "infinite values in sample 4")


def test_sample_counts_that_differ(run: Run, two_input_model: Path, tmp_path: Path) -> None:
    np.savez(
        tmp_path / "uneven.npz", x=np.zeros((3, 4), np.float32), mask=np.ones((2, 4), np.float32)
    )
    failure(sweep(run, two_input_model, "uneven.npz"), '3 samples of input "x" and 2 of "mask"')


def test_files_without_a_partner(run: Run, two_input_model: Path, tmp_path: Path) -> None:
    for name, files in (("x", ["a", "b"]), ("mask", ["a"])):
        (tmp_path / "pairs" / name).mkdir(parents=True)
        for file in files:
            np.save(tmp_path / "pairs" / name / f"{file}.npy", np.ones((1, 4), np.float32))
    failure(sweep(run, two_input_model, "pairs"), "b.npy", "no partner")


@pytest.mark.parametrize("blocked", ["file/out", "file"])
def test_output_folder_that_cannot_be_written(
    run: Run, model: Path, data: Path, tmp_path: Path, blocked: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    result = run("sweep", model, "--data", data, "-o", blocked)
    failure(result, f"the output folder {blocked} cannot be written", "choose another one with -o")
    assert "calibrate" not in result.stderr, "before the work starts"


def test_onnx_runtime_that_is_missing_or_no_runtime(
    run: Run, model: Path, data: Path, tmp_path: Path
) -> None:
    arguments = ("sweep", model, "--data", data, "-o", "out")
    failure(
        run(*arguments, "--ort-lib", "/nowhere/libonnxruntime.so"), "/nowhere/libonnxruntime.so"
    )
    (tmp_path / "fake.so").write_text("no library")
    failure(run(*arguments, BITSWEEP_ORT_LIB=str(tmp_path / "fake.so")), "fake.so")


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_onnx_runtime_that_is_too_old(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    # A library that knows no API version, as an old runtime knows none that is new enough.
    (tmp_path / "old.c").write_text(
        "static const void* get_api(unsigned version) { (void)version; return 0; }\n"
        'static const char* get_version(void) { return "1.2.0"; }\n'
        "static struct { const void* (*get_api)(unsigned); const char* (*get_version)(void); }\n"
        "    base = {get_api, get_version};\n"
        "const void* OrtGetApiBase(void) { return &base; }\n"
    )
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", tmp_path / "old.so", tmp_path / "old.c"], check=True
    )
    result = run("sweep", model, "--data", data, "-o", "out", "--ort-lib", tmp_path / "old.so")
    failure(result, "1.2.0", "too old")


def test_provider_that_is_not_there(run: Run, model: Path, data: Path) -> None:
    result = run("sweep", model, "--data", data, "-o", "out", "--provider", "CUDAExecutionProvider")
    assert result.returncode in (1, 2)
    assert result.stderr.count("error: ") == 1
    assert "CUDAExecutionProvider" in result.stderr
