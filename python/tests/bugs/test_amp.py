"""Mixed precision: curves, targets that lack kernels, budgets that cannot be met, costs that follow the bits."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

import bitsweep
from bitsweep.errors import Error
from situations import build, node, normal, samples

RULES = {
    "defaults": {
        "ops": {"is_output_quantized": "True", "is_symmetric": "False"},
        "params": {"is_quantized": "True", "is_symmetric": "True"},
    },
    "params": {},
    "op_type": {},
    "supergroups": [],
    "model_input": {"is_input_quantized": "True"},
    "model_output": {},
}


def blocks(count: int):
    nodes = []
    weights = {}
    for i in range(count):
        weights[f"w{i}"] = normal(4, 4, 3, 3)
        nodes.append(node("Conv", [f"r{i}" if i else "x", f"w{i}"], [f"c{i}"], pads=[1] * 4))
        nodes.append(node("Relu", [f"c{i}"], ["y" if i == count - 1 else f"r{i + 1}"]))
    return build(nodes, {"x": [1, 4, 8, 8]}, weights)


# G34
def test_without_a_limit_the_curve_goes_from_the_cheapest_to_the_dearest():
    sim = bitsweep.QuantizationSimModel(blocks(4))
    feeds = samples(x=[1, 4, 8, 8])
    result = bitsweep.mix(sim, feeds, ["W4A8", "W8A8", "W8A16", "W16A16"])
    costs = [p.costs[0] for p in result.frontier]
    assert all(cheap < dear for cheap, dear in pairwise(costs))
    assert len(costs) >= 6
    assert costs[-1] == pytest.approx(1.0)
    # 4 x 8 of 16 x 16 bits.
    assert costs[0] == pytest.approx(1 / 8)
    for point, bits in ((result.frontier[0], (4, 8)), (result.frontier[-1], (16, 16))):
        for group, candidate in zip(result.groups, point.by_group, strict=True):
            if group.parameters:
                assert (candidate.parameter.bitwidth, candidate.activation.bitwidth) == bits


# G35
def test_an_operator_without_kernel_for_any_candidate_is_named(tmp_path):
    kernel = {
        "activation": {"bitwidth": 16, "dtype": "int"},
        "param": {"bitwidth": 8, "dtype": "int"},
    }
    rules = json.loads(json.dumps(RULES))
    rules["op_type"]["LayerNormalization"] = {"supported_kernels": [kernel]}
    rules["defaults"]["supported_kernels"] = [
        kernel | {"activation": {"bitwidth": 8, "dtype": "int"}},
        kernel,
    ]
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    model = build(
        [
            node("MatMul", ["x", "w"], ["h"]),
            node("LayerNormalization", ["h", "scale", "bias"], ["y"]),
        ],
        {"x": [1, 8]},
        {"w": normal(8, 8), "scale": normal(8), "bias": normal(8)},
    )
    feeds = samples(x=[1, 8])
    sim = bitsweep.QuantizationSimModel(model, config_file=str(tmp_path / "rules.json"))
    with pytest.raises(Error, match="LayerNormalization"):
        bitsweep.mix(sim, feeds, ["W8A8"], "bops<=1")
    result = bitsweep.mix(sim, feeds, ["W8A8", "W8A16"], "bops<=1", frontier_points=0)
    kinds = {
        name: candidate.activation.bitwidth
        for group, candidate in zip(result.groups, result.chosen.by_group, strict=True)
        for name in group.activations
    }
    assert kinds["h"] == 16


# G36
def test_what_stays_in_float_counts_and_the_minimum_is_said():
    model = build(
        [node("MatMul", ["x", "w1"], ["h"]), node("MatMul", ["h", "w2"], ["y"])],
        {"x": [1, 16]},
        {"w1": normal(16, 90), "w2": normal(90, 2)},
    )
    sim = bitsweep.QuantizationSimModel(model)
    sim.qc_quantize_op_dict["w1"].enabled = False
    result = bitsweep.mix(
        sim, samples(x=[1, 16]), ["W8A8", "W4A8"], "bytes<=1kB", frontier_points=0
    )
    assert result.chosen is None
    floats, halved, scales = 16 * 90 * 4, 90 * 2 // 2, 2 * 4  # one scale for each column of w2
    assert result.infeasible == f"the minimum of bytes is {floats + halved + scales}"


# G37
def test_the_cost_follows_the_bits():
    model = build(
        [node("Conv", ["x", "w"], ["y"], pads=[1] * 4)],
        {"x": [1, 8, 8, 8]},
        {"w": normal(8, 8, 3, 3)},
    )
    for weight, activation in ((8, 8), (4, 8), (8, 16)):
        sim = bitsweep.QuantizationSimModel(model)
        result = bitsweep.mix(
            sim, samples(x=[1, 8, 8, 8]), [f"W{weight}A{activation}"], "bops<=1", frontier_points=0
        )
        costs = dict(zip([n for n, _ in bitsweep.mix_costs()], result.chosen.costs, strict=False))
        assert costs["gbops"] == pytest.approx(36864 * weight * activation / 1e9)
        scales = 8 * 4  # one for each channel
        assert costs["bytes"] == pytest.approx(576 * weight / 8 + scales)
