"""Old operator sets, and those of other domains."""

from __future__ import annotations

import pytest
from onnx import helper

from situations import PER_CHANNEL, build, node, normal, num_scales, samples, simulate


# G29, G30: what an old operator set cannot write can still be simulated
@pytest.mark.parametrize(("opset", "bits"), [(7, 8), (12, 8), (13, 16), (10, 16)])
def test_old_operator_sets_are_simulated_at_any_width_per_channel(opset, bits):
    model = build(
        [node("Conv", ["x", "W"], ["c"], group=8), node("Relu", ["c"], ["y"])],
        {"x": [1, 8, 8, 8]},
        {"W": normal(8, 1, 3, 3)},
        opset=opset,
    )
    sim = simulate(
        model, samples(x=[1, 8, 8, 8]), activation_type=f"int{bits}", config_file=PER_CHANNEL
    )
    assert num_scales(sim, "W") == 8
    assert sim.qc_quantize_op_dict["y"].bitwidth == bits


# G31
def test_imports_of_other_domains_do_not_disturb():
    model = build(
        [node("Relu", ["x"], ["y"])],
        {"x": [1, 8]},
        {},
        opset=13,
        imports=[helper.make_opsetid("ai.onnx.ml", 2)],
    )
    simulate(model, samples(x=[1, 8]))
