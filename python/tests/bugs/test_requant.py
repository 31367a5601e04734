"""Models that carry quantizers already."""

from __future__ import annotations

import numpy as np
import pytest

import bitsweep
from bitsweep.errors import Error
from situations import build, node, normal


# G45
def test_a_quantized_model_is_refused_in_one_sentence():
    model = build(
        [
            node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            node("DequantizeLinear", ["q", "s", "z"], ["d"]),
            node("MatMul", ["d", "W"], ["y"]),
        ],
        {"x": [1, 8]},
        {"s": np.array(0.1, np.float32), "z": np.array(0, np.uint8), "W": normal(8, 4)},
    )
    with pytest.raises(Error) as refused:
        bitsweep.QuantizationSimModel(model)
    assert "QuantizeLinear" in str(refused.value)
    assert "\n" not in str(refused.value)
