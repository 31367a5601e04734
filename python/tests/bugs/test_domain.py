"""Operators of domains that nobody knows."""

from __future__ import annotations

import pytest
from onnx import helper

from bitsweep.errors import Error
from situations import build, node, normal, samples, simulate


# G32
def test_an_unknown_operator_is_named_with_its_domain():
    model = build(
        [
            node("Conv", ["x", "W1"], ["a"]),
            node("Foo", ["a"], ["b"], domain="my.domain", name="foo"),
            node("Conv", ["b", "W2"], ["y"]),
        ],
        {"x": [1, 3, 8, 8]},
        {"W1": normal(4, 3, 1, 1), "W2": normal(4, 4, 1, 1)},
        imports=[helper.make_opsetid("my.domain", 1)],
        checked=False,
    )
    with pytest.raises(Error) as refused:
        simulate(model, samples(x=[1, 3, 8, 8]))
    assert all(word in str(refused.value) for word in ("Foo", "my.domain", "foo"))
