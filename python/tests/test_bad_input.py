"""What a caller gets wrong: one sentence each with where, what and how to fix it; and nothing is changed by it."""

from __future__ import annotations

import json
import re

import numpy as np
import onnx
import pytest

import bitsweep
from bitsweep import QuantizationSimModel
from bitsweep.quantsim import load_encodings_to_sim

SENTENCE = re.compile(r"^[^:\n]+: [^\n]+; [^\n]+$")


def refusal(call) -> str:
    """Text of the error that a call raises."""
    with pytest.raises(bitsweep.Error) as caught:
        call()
    text = str(caught.value)
    assert SENTENCE.match(text), text
    return text


@pytest.fixture
def feed(cnn):
    return dict(cnn.feeds[0])


def name_of(feed) -> str:
    return next(iter(feed))


class TestSamples:
    """The same checks for calibration and for runs."""

    @pytest.fixture(params=["calibrate", "run"])
    def use(self, request, cnn, cnn_sim):
        if request.param == "run":
            return lambda sample: cnn_sim.session.run(None, sample)
        return lambda sample: QuantizationSimModel(cnn.model).compute_encodings([sample])

    def test_wrong_name(self, use, feed):
        name = name_of(feed)
        text = refusal(lambda: use({"pixels": feed[name]}))
        assert name in text
        assert "pixels" in refusal(lambda: use({**feed, "pixels": feed[name]}))

    def test_missing_input(self, use, feed):
        assert f'"{name_of(feed)}" is missing' in refusal(lambda: use({}))

    def test_wrong_shape(self, use, feed):
        name = name_of(feed)
        text = refusal(lambda: use({name: feed[name][..., :-1]}))
        assert name in text
        assert "shape" in text
        assert "shape" in refusal(lambda: use({name: feed[name][0]}))

    @pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32])
    def test_wrong_type(self, use, feed, dtype):
        name = name_of(feed)
        text = refusal(lambda: use({name: feed[name].astype(dtype)}))
        assert np.dtype(dtype).name in text
        assert "float32" in text

    def test_no_numbers(self, use, feed):
        name = name_of(feed)
        assert name in refusal(lambda: use({name: np.array(["a"])}))


def test_no_samples(cnn, cnn_sim):
    text = refusal(lambda: QuantizationSimModel(cnn.model).compute_encodings([]))
    assert "no sample was run" in text
    before = {n: q.get_encodings() for n, q in cnn_sim.qc_quantize_op_dict.items()}
    refusal(lambda: cnn_sim.compute_encodings(iter(())))
    assert {n: q.get_encodings() for n, q in cnn_sim.qc_quantize_op_dict.items()} == before


def test_one_sample_instead_of_a_series(cnn):
    assert "[feed]" in refusal(
        lambda: QuantizationSimModel(cnn.model).compute_encodings(cnn.feeds[0])
    )


def test_a_run_before_calibration_names_the_quantizer(cnn, feed):
    sim = QuantizationSimModel(cnn.model)
    text = refusal(lambda: sim.session.run(None, feed))
    assert "compute_encodings" in text
    assert any(f'"{name}"' in text for name in sim.qc_quantize_op_dict)


class TestRules:
    def rules(self, tmp_path, **sections):
        path = tmp_path / "rules.json"
        path.write_text(json.dumps({"extends": "default", **sections}))
        return path

    @pytest.mark.parametrize(
        ("sections", "named"),
        [
            ({"op_types": {}}, "op_types"),
            ({"defaults": {"per_chanel_quantization": "True"}}, "per_chanel_quantization"),
            ({"op_type": {"Conv": {"is_output_quantised": "True"}}}, "is_output_quantised"),
            ({"op_type": {"Conv": {"is_output_quantized": "yes"}}}, "yes"),
            ({"supergroups": [{"op_list": ["Conv"]}]}, "op_list"),
            ({"supergroup_pass_list": ["MatMulAdd"]}, "MatMulAdd"),
            ({"defaults": {"hw_version": "eight"}}, "hw_version"),
        ],
    )
    def test_unknown_keys_and_values_are_named(self, cnn, tmp_path, sections, named):
        path = self.rules(tmp_path, **sections)
        text = refusal(lambda: QuantizationSimModel(cnn.model, config_file=path))
        assert named in text
        assert "rules.json" in text

    def test_broken_json_and_missing_files(self, cnn, tmp_path):
        path = tmp_path / "broken.json"
        path.write_text('{"defaults": ')
        assert "broken.json" in refusal(lambda: QuantizationSimModel(cnn.model, config_file=path))
        text = refusal(lambda: QuantizationSimModel(cnn.model, config_file="htp_v99"))
        assert "htp_v99" in text
        assert "htp_v81" in text


def test_encodings_of_another_model(cnn_sim, example, calibrate, tmp_path):
    other = calibrate(example)
    if set(other.qc_quantize_op_dict) <= set(cnn_sim.qc_quantize_op_dict):
        return  # the very model
    other.export(tmp_path, "other", export_model=False)
    before = {n: q.get_encodings() for n, q in cnn_sim.qc_quantize_op_dict.items()}
    text = refusal(lambda: load_encodings_to_sim(cnn_sim, tmp_path / "other.encodings"))
    assert "other.encodings" in text
    assert {n: q.get_encodings() for n, q in cnn_sim.qc_quantize_op_dict.items()} == before


class TestModels:
    @pytest.fixture
    def path(self, cnn, tmp_path):
        path = tmp_path / "model.onnx"
        onnx.save(cnn.model, path)
        return path

    def test_truncated(self, path):
        path.write_bytes(path.read_bytes()[:-100])
        assert "model.onnx" in refusal(lambda: QuantizationSimModel(path))

    def test_no_model_at_all(self, path):
        for content in (b"", b"\x89PNG\r\n", b"<html></html>"):
            path.write_bytes(content)
            assert "model.onnx" in refusal(lambda: QuantizationSimModel(path))

    def test_missing_file(self, tmp_path):
        text = refusal(lambda: QuantizationSimModel(tmp_path / "nowhere.onnx"))
        assert "nowhere.onnx" in text

    def test_external_data_that_is_missing_or_too_short(self, cnn, tmp_path):
        path = tmp_path / "external.onnx"
        copy = onnx.ModelProto()  # saving moves the weights out of what is saved
        copy.CopyFrom(cnn.model)
        onnx.save(
            copy,
            path,
            save_as_external_data=True,
            location="weights.bin",
            size_threshold=0,
        )
        weights = tmp_path / "weights.bin"
        weights.write_bytes(weights.read_bytes()[:16])
        assert "weights.bin" in refusal(lambda: QuantizationSimModel(path))
        weights.unlink()
        assert "weights.bin" in refusal(lambda: QuantizationSimModel(path))


class TestTypes:
    """Arguments of a wrong type; native code would list all overloads of the function."""

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"cost": 3}, "mix: cost is 3; it takes str"),
            ({"num_threads": "two"}, "mix: num_threads is 'two'; it takes int"),
            ({"frontier_points": True}, "mix: frontier_points is True; it takes int"),
            ({"targets": [3]}, "mix: targets is [3]; it takes str | Sequence[str]"),
            ({"candidates": "W8A8"}, "mix: candidates is 'W8A8'; it takes Sequence["),
            ({"pinned": ["w"]}, "mix: pinned is ['w']; it takes Mapping["),
            ({"max_memory_bytes": "x" * 99}, "mix: max_memory_bytes is of the type str;"),
        ],
    )
    def test_of_a_mix(self, cnn, cnn_sim, arguments, words):
        with pytest.raises(TypeError) as caught:
            bitsweep.mix(cnn_sim, cnn.feeds, **{"candidates": ["W8A8"], **arguments})
        assert str(caught.value).startswith(words)

    def test_of_a_sweep(self, cnn, cnn_sim):
        with pytest.raises(TypeError, match=r"sweep: mode is 3; it takes Literal\['enable_one'"):
            bitsweep.sweep(cnn_sim, cnn.feeds, mode=3)
        with pytest.raises(TypeError, match="sweep: outputs is 'logits'; it takes Sequence"):
            bitsweep.sweep(cnn_sim, cnn.feeds, outputs="logits")

    def test_numbers_of_numpy_and_unknown_names_are_left_to_python(self, cnn, cnn_sim):
        bitsweep.sweep(cnn_sim, cnn.feeds, num_threads=np.int64(1), progress=False)
        with pytest.raises(
            TypeError, match=r"sweep\(\) got an unexpected keyword argument 'metrik'"
        ):
            bitsweep.sweep(cnn_sim, cnn.feeds, metrik="sqnr")
