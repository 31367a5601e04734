"""What the hardware behind a written model does with it: zero points, and sums of pairs in 16 bits."""

from __future__ import annotations

import numpy as np
import pytest

import bitsweep
from situations import build, node, normal, samples, simulate
from written import checked_export, linear, values


# G43: TensorRT takes no zero point but 0
@pytest.mark.parametrize("activations", ["unsigned", "signed"])
def test_every_zero_point_for_tensorrt_is_zero_and_said(activations):
    model = build(
        [node("Conv", ["x", "W", "b"], ["c"]), node("Relu", ["c"], ["r"]), node("Conv", ["r", "V"], ["y"])],
        {"x": [1, 3, 8, 8]},
        {"W": normal(4, 3, 3, 3), "b": normal(4), "V": normal(2, 4, 1, 1)},
    )  # fmt: skip
    feeds = samples(x=[1, 3, 8, 8])
    sim = simulate(model, feeds)
    before = {n.input[2] for n in linear(sim.to_onnx_qdq())}
    assert any(values(sim.to_onnx_qdq())[z].any() for z in before)
    exported = sim.to_onnx_qdq(
        target="tensorrt", export_int32_bias=True, force_activation_as=activations
    )
    stored = values(exported)
    for pair in linear(exported):
        assert stored[pair.input[2]].dtype == np.int8, pair.name
        assert not stored[pair.input[2]].any(), pair.name
    notes = {n.tensor: n.what for n in sim.target_notes("tensorrt", export_int32_bias=True)}
    assert "half of the codes are unused" in notes["r"]
    assert "zero points must be 0" in notes["y"]
    assert "stays in float" in notes["b"]
    # What was changed on purpose agrees with the simulation that is read back.
    assert bitsweep.verify(model, exported, feeds).passed


# Each target refuses what it can't say, with the tensor's name, and tells or repairs the rest.
@pytest.mark.parametrize(
    ("target", "options", "tensor", "what"),
    [
        ("tensorrt", {"activation_type": "int16"}, "x", "is int16: TensorRT has"),
        ("tensorrt", {"param_type": "int3"}, "W", "is int3: TensorRT has"),
        ("qnn_htp", {"activation_type": "int4"}, "x", "activation of 4 bits: HTP has 8 and 16"),
        ("qnn_htp", {"param_type": "int16"}, "W", "has 16 bits beside activations of 8"),
        ("qnn_htp", {"param_type": "float8e4m3fn"}, "W", "which HTP does not have"),
    ],
)
def test_targets_refuse_by_tensor(target, options, tensor, what):
    model = build([node("Conv", ["x", "W"], ["y"])], {"x": [1, 3, 8, 8]}, {"W": normal(4, 3, 3, 3)})
    sim = simulate(model, samples(x=[1, 3, 8, 8]), **options)
    refused = {n.tensor: n.what for n in sim.target_notes(target) if n.refused}
    assert what in refused[tensor]
    with pytest.raises(bitsweep.Error, match=r'".+" .*(TensorRT|HTP|16 bits).*target profile'):
        sim.to_onnx_qdq(target=target)
    assert sim.to_onnx_qdq().graph.node  # the format itself can say it


def test_targets_have_no_other_names():
    model = build([node("Relu", ["x"], ["y"])], {"x": [1, 4]}, {})
    sim = simulate(model, samples(x=[1, 4]))
    with pytest.raises(bitsweep.Error, match="onnx, ort_cpu, qnn_htp, tensorrt"):
        sim.to_onnx_qdq(target="tpu")


# G44: pairs of products that do not fit 16 bits
def test_saturation_without_vnni_is_announced_and_seven_bits_avoid_it():
    model = build(
        [node("MatMul", ["x", "W"], ["y"])],
        {"x": [1, 512]},
        {"W": np.full((512, 4), 1.27, np.float32)},
    )
    feeds = [{"x": np.full((1, 512), 2.0, np.float32)} for _ in range(2)]
    wide = simulate(model, feeds)
    notes = {n.tensor: n for n in wide.target_notes("ort_cpu")}
    assert "two products can pass 32767" in notes["W"].what
    assert "7 bits" in notes["W"].what
    assert not notes["W"].refused
    checked_export(wide, feeds, target="ort_cpu")
    narrow = simulate(model, feeds, param_type="int7")
    assert not narrow.target_notes("ort_cpu")
    exported = checked_export(narrow, feeds, target="ort_cpu", prequantize_constants=True)
    codes = values(exported)["W_q"]
    assert 2 * 255 * int(np.abs(codes.astype(np.int32)).max()) <= 32767
