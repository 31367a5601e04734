"""Models beyond what one file can hold, at limits that small models pass too."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import bitsweep
from bitsweep import _core
from situations import build, node, normal, samples


def products(count: int = 3, width: int = 64) -> onnx.ModelProto:
    names = ["x", *(f"h{i}" for i in range(count - 1)), "y"]
    return build(
        [node("MatMul", [names[i], f"W{i}"], [names[i + 1]]) for i in range(count)],
        {"x": [1, width]},
        {f"W{i}": normal(width, width) for i in range(count)},
    )


def outside(path) -> dict[str, str]:
    """Location of each weight that lies in another file."""
    model = onnx.load(path, load_external_data=False)
    return {
        i.name: next(e.value for e in i.external_data if e.key == "location")
        for i in model.graph.initializer
        if i.data_location == onnx.TensorProto.EXTERNAL
    }


# G27: weights that are mapped from a file, never as a whole in a message
@pytest.mark.parametrize("integers", [False, True])
def test_weights_in_another_file_are_calibrated_and_written_from_there(tmp_path, integers):
    onnx.save(
        products(), tmp_path / "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=0
    )  # fmt: skip
    assert (tmp_path / "m.onnx").stat().st_size < 4096
    feeds = samples(x=[1, 64])
    sim = bitsweep.QuantizationSimModel(str(tmp_path / "m.onnx"))
    sim.compute_encodings(feeds)
    _core.to_onnx_qdq(sim.native, integer_weights=integers).save(
        tmp_path / "q.onnx", _core.ExternalData.ALWAYS
    )
    assert (tmp_path / "q.onnx").stat().st_size < 8192
    stored = outside(tmp_path / "q.onnx")
    assert len(stored) == 3
    assert set(stored.values()) == {"q.onnx.data"}
    onnx.checker.check_model(str(tmp_path / "q.onnx"), full_check=True)
    assert sim.verify(tmp_path / "q.onnx", feeds, latency_runs=0).passed
    # The float model beside an encodings file goes the same way.
    sim.export(tmp_path, "f")
    for name, value in bitsweep_values(tmp_path / "f.onnx").items():
        np.testing.assert_array_equal(value, bitsweep_values(tmp_path / "m.onnx")[name])


def bitsweep_values(path) -> dict[str, np.ndarray]:
    model = onnx.load(path)
    return {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}


def test_the_limit_of_one_file_can_be_lowered(tmp_path):
    bitsweep.quantize(
        products(2), samples(x=[1, 64]), tmp_path / "q.onnx", verify=False, inline_limit_bytes=4096
    )
    assert outside(tmp_path / "q.onnx")
    assert (tmp_path / "q.onnx.data").is_file()


# G28: the choice between one file and two is kept
@pytest.mark.parametrize(("choice", "files"), [("always", 2), ("never", 1), ("auto", 1)])
def test_external_data_is_written_when_asked_for(tmp_path, choice, files):
    bitsweep.quantize(
        products(2), samples(x=[1, 64]), tmp_path / "q.onnx", verify=False, external_data=choice
    )
    assert len(list(tmp_path.iterdir())) == files
    assert bool(outside(tmp_path / "q.onnx")) == (choice == "always")
    if choice == "always":
        assert (tmp_path / "q.onnx").stat().st_size < 4096
    with pytest.raises(bitsweep.Error, match="auto, always or never"):
        bitsweep.quantize(
            products(2), samples(x=[1, 64]), tmp_path / "q.onnx", external_data="sometimes"
        )
