"""Limits that hold together, against every configuration of a net that is small enough to run them all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import bitsweep
import models
from models import Graph, normal

CANDIDATES = ["W8A16", "W8A8", "W4A8"]
COSTS = [name for name, _ in bitsweep.mix_costs()]


@pytest.fixture(scope="module")
def net() -> models.Example:
    """Much work with few weights, then much weight with little work: costs pull in different directions."""
    g = Graph(51)
    x = g.op("Relu", [g.conv("x", 2, 6, "conv", stride=2)], "relu")
    y = g.gemm(g.op("Flatten", [x], "flatten", axis=1), 96, 24, "fc")
    feeds = [{"x": normal(np.random.default_rng(i), 1, 2, 8, 8)} for i in range(4)]
    return models.Example("limits", g.model({"x": (1, 2, 8, 8)}, {"y": y}), feeds)


def mix(net, targets, **arguments):
    sim = bitsweep.QuantizationSimModel(net.model)
    arguments = {"frontier_points": 0} | arguments
    return bitsweep.mix(sim, net.feeds, CANDIDATES, targets, **arguments)


@pytest.fixture(scope="module")
def configurations(net):
    """(costs by name, measured quality) of all of them: each is pinned, and run.

    Bit operations count in absolute numbers: as a share they are those of what is left to choose.
    """
    groups = [(g.parameters or g.activations)[0] for g in mix(net, "gbops<=1e6").groups]
    found = []
    for types in itertools.product(CANDIDATES, repeat=len(groups)):
        point = mix(net, "gbops<=1e6", pinned=dict(zip(groups, types, strict=True))).chosen
        found.append((dict(zip(COSTS, point.costs, strict=False)), point.measured_db))
    return found


def quantile(configurations, cost, share):
    return float(np.quantile([costs[cost] for costs, _ in configurations], share))


@pytest.mark.parametrize(
    "shares",
    [
        {"gbops": 0.4, "bytes": 0.25},
        {"gbops": 0.6, "bytes": 0.5},
        {"gbops": 0.6, "peak": 0.5},
        {"bytes": 0.5, "share16": 0.6},
        {"gbops": 0.5, "bytes": 0.5, "share16": 0.6},
        {"bytes": 0.25, "peak": 0.5, "share16": 0.5},
    ],
    ids="+".join,
)
def test_all_limits_hold_and_nothing_better_fits(net, configurations, shares):
    limits = {cost: quantile(configurations, cost, share) for cost, share in shares.items()}

    def fits(costs):
        return all(costs[cost] <= limit * (1 + 1e-9) for cost, limit in limits.items())

    fitting = [quality for costs, quality in configurations if fits(costs)]
    assert 0 < len(fitting) < len(configurations)
    for left_out in limits:  # each of them matters
        others = {cost: limit for cost, limit in limits.items() if cost != left_out}
        assert any(
            all(costs[cost] <= limit for cost, limit in others.items()) and not fits(costs)
            for costs, _ in configurations
        ), left_out
    result = mix(net, [f"{cost}<={limit!r}" for cost, limit in limits.items()])
    assert result.infeasible == ""
    assert fits(dict(zip(COSTS, result.chosen.costs, strict=False)))
    assert result.chosen.measured_db == pytest.approx(max(fitting), abs=1e-9)


@pytest.mark.parametrize("cost", ["gbops", "bytes"])
def test_least_cost_for_a_quality_under_another_limit(net, configurations, cost):
    other = "bytes" if cost == "gbops" else "gbops"
    limit = quantile(configurations, other, 0.7)
    fitting = [(c, q) for c, q in configurations if c[other] <= limit]
    quality = float(np.median([q for _, q in fitting]))
    least = min(c[cost] for c, q in fitting if q >= quality)
    result = mix(net, [f"sqnr>={quality!r}", f"{other}<={limit!r}"], cost=cost)
    chosen = dict(zip(COSTS, result.chosen.costs, strict=False))
    assert result.chosen.measured_db >= quality - 5e-4  # counts to the digits that are printed
    assert chosen[other] <= limit * (1 + 1e-9)
    assert chosen[cost] == pytest.approx(least, rel=1e-9)


def test_limits_that_no_configuration_keeps_together_say_what_is_possible(net, configurations):
    eight = max(q for c, q in configurations if c["share16"] == 0.0)
    most = max(q for _, q in configurations)
    result = mix(net, [f"sqnr>={(eight + most) / 2!r}", "share16<=0"])
    assert result.chosen is None
    assert f"the best measured quality within the limits is {eight:.2f} dB" in result.infeasible
    assert f"without them {most:.2f} dB" in result.infeasible


def bits(sim, names):
    return [sim.qc_quantize_op_dict[name].bitwidth for name in names]


def test_sets_with_one_format_keep_it_under_every_budget():
    """Query, key and value of each attention layer, as accelerators and caches of keys and values ask for."""
    example = models.transformer()
    parts = [[f"l{i}.attn.{part}_proj" for part in "qkv"] for i in range(2)]
    outputs = [[f"{part}.add.out" for part in of_layer] for of_layer in parts]
    differ = False
    for bops in (0.45, 0.8):
        for same_format in (outputs, []):
            sim = bitsweep.QuantizationSimModel(example.model)
            result = bitsweep.mix(
                sim, example.feeds, CANDIDATES, f"bops<={bops}",
                same_format=same_format, frontier_points=0,
            )  # fmt: skip
            assert result.infeasible == ""
            assert result.chosen.costs[0] <= bops * (1 + 1e-8)
            # The weights read one tensor, so that they are one group anyway.
            assert all(len(set(bits(sim, [f"{n}.weight" for n in names]))) == 1 for names in parts)
            same = [len(set(bits(sim, names))) == 1 for names in outputs]
            if same_format:
                assert all(same)
            else:
                differ = differ or not all(same)
    assert differ, "they are the same without being told so: the test proves nothing"
