"""Optional inputs: empty names, inputs that were attributes once."""

from __future__ import annotations

import numpy as np
import pytest

from situations import PER_CHANNEL, build, node, normal, rows, samples, simulate


# G10
def test_an_empty_input_name_gets_no_quantizer():
    model = build(
        [node("Pad", ["x", "pads", ""], ["p"]), node("Conv", ["p", "W"], ["y"])],
        {"x": [1, 3, 8, 8]},
        {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "W": normal(4, 3, 3, 3)},
    )
    assert "" not in rows(simulate(model, samples(x=[1, 3, 8, 8])))


# G11
@pytest.mark.parametrize(
    ("clip", "weights", "opset", "low", "high"),
    [
        (
            node("Clip", ["c", "lo", "hi"], ["y"]),
            {"lo": np.float32(0), "hi": np.float32(6)},
            17,
            0,
            6,
        ),
        (node("Clip", ["c", "", "hi"], ["y"]), {"hi": np.float32(6)}, 17, None, 6),
        (node("Clip", ["c", "lo"], ["y"]), {"lo": np.float32(0)}, 17, 0, None),
        (node("Clip", ["c"], ["y"], min=0.0, max=6.0), {}, 10, 0, 6),
    ],
    ids=["both", "only max", "only min", "attributes"],
)
def test_clip_bounds_come_from_the_right_place(clip, weights, opset, low, high):
    model = build(
        [node("Conv", ["x", "W"], ["c"]), clip],
        {"x": [1, 3, 8, 8]},
        {"W": normal(4, 3, 3, 3), **{k: np.array(v) for k, v in weights.items()}},
        opset=opset,
    )
    sim = simulate(model, samples(x=[1, 3, 8, 8]))
    encoding = sim.qc_quantize_op_dict["y"].get_encodings()[0]
    if low is not None:
        assert encoding.min == 0
    else:
        assert encoding.min < -1
    if high is not None:
        assert encoding.max <= 6 + encoding.delta
    else:
        assert encoding.max > 6
    assert sim.qc_quantize_op_dict["W"].enabled


# Every operator with an optional input or output that is left out, in the middle and at the end
@pytest.mark.parametrize(
    ("layer", "weights", "x", "opset"),
    [
        (node("Conv", ["x", "W", ""], ["y"]), {"W": (4, 3, 3, 3)}, [1, 3, 8, 8], 17),
        (node("ConvTranspose", ["x", "W", ""], ["y"]), {"W": (3, 4, 3, 3)}, [1, 3, 8, 8], 17),
        (node("Gemm", ["x", "W", ""], ["y"]), {"W": (8, 4)}, [2, 8], 17),
        (node("LayerNormalization", ["x", "W", "b"], ["y", "", "d"]), {"W": (8,), "b": (8,)}, [2, 8], 17),
        (node("Resize", ["x", "", "", "sizes"], ["y"]), {}, [1, 3, 4, 4], 17),
        (node("Resize", ["x", "", "scales"], ["y"]), {}, [1, 3, 4, 4], 13),
        (node("Dropout", ["x", "", ""], ["y"]), {}, [2, 8], 17),
        (node("Slice", ["x", "from", "to", "", "one"], ["y"]), {}, [4, 8], 17),
        (node("ReduceSum", ["x", ""], ["y"]), {}, [4, 8], 17),
        (node("MaxPool", ["x"], ["y", ""], kernel_shape=[2, 2]), {}, [1, 3, 8, 8], 17),
        (node("LSTM", ["x", "W", "R", "", "", "", "c"], ["", "y"], hidden_size=2), {"W": (1, 8, 4), "R": (1, 8, 2), "c": (1, 1, 2)}, [3, 1, 4], 17),
        (node("GRU", ["x", "W", "R", "", "", "h"], ["y"], hidden_size=2), {"W": (1, 6, 4), "R": (1, 6, 2), "h": (1, 1, 2)}, [3, 1, 4], 17),
        (node("RNN", ["x", "W", "R", "b"], ["", "y"], hidden_size=2), {"W": (1, 2, 4), "R": (1, 2, 2), "b": (1, 4)}, [3, 1, 4], 17),
        (node("Clip", ["x", "", ""], ["y"]), {}, [2, 8], 17),
        (node("TopK", ["x", "k"], ["y", "indices"]), {}, [2, 8], 17),
        (node("Pad", ["x", "pads", "", "axes"], ["y"]), {}, [1, 3, 8, 8], 21),
    ],
    ids=lambda v: v.op_type if hasattr(v, "op_type") else None,
)  # fmt: skip
@pytest.mark.parametrize("rules", ["default", PER_CHANNEL, "enpu_v7"])
def test_what_is_left_out_gets_no_quantizer(layer, weights, x, opset, rules):
    settings = {
        "sizes": np.array([1, 3, 8, 8]),
        "scales": np.array([1, 1, 2, 2], np.float32),
        "from": np.array([1]),
        "to": np.array([3]),
        "one": np.array([1]),
        "k": np.array([2]),
        "pads": np.array([1, 1, 1, 1]),
        "axes": np.array([2, 3]),
    }
    used = {name: value for name, value in settings.items() if name in layer.input}
    model = build(
        [layer], {"x": x}, {**{n: normal(*shape) for n, shape in weights.items()}, **used},
        opset=opset,
    )  # fmt: skip
    sim = simulate(model, samples(x=x), config_file=rules)
    assert "" not in sim.qc_quantize_op_dict
    assert "" not in rows(sim)
    assert not {"sizes", "scales", "from", "to", "k", "pads"} & set(sim.qc_quantize_op_dict)
