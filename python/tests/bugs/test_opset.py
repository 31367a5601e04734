"""Old operator sets, and those of other domains."""

from __future__ import annotations

import onnx
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


# From the oldest operator set to the newest that the runtime has: the same placement and numbers
NEWEST = min(onnx.defs.onnx_opset_version(), 23)


@pytest.mark.parametrize("rules", ["default", "htp_v81", "enpu_v7", "ort_cpu", "tensorrt"])
def test_every_operator_set_gives_the_same_encodings(rules):
    weights = {"W": normal(4, 3, 3, 3), "b": normal(4), "V": normal(4, 2)}
    feeds = samples(x=[1, 3, 8, 8])
    found = {}
    for opset in range(7, NEWEST + 1):
        model = build(
            [
                node("Conv", ["x", "W", "b"], ["c"]),
                node("Relu", ["c"], ["r"]),
                node("GlobalAveragePool", ["r"], ["g"]),
                node("Flatten", ["g"], ["f"], axis=1),
                node("MatMul", ["f", "V"], ["m"]),
                node("Softmax", ["m"], ["y"], axis=1),
            ],
            {"x": [1, 3, 8, 8]},
            weights,
            opset=opset,
        )
        sim = simulate(model, feeds, config_file=rules)
        found[opset] = {
            name: [(e.delta, e.offset, e.bw) for e in q.get_encodings() or ()]
            for name, q in sim.qc_quantize_op_dict.items()
        }
    assert all(encodings == found[7] for encodings in found.values())
