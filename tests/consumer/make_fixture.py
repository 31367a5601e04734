"""Writes a small trained-looking model and samples for the consumer test: make_fixture.py DIR."""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    weights = {
        "conv.weight": rng.normal(size=(8, 3, 3, 3), scale=0.2),
        "fc.weight": rng.normal(size=(5, 8), scale=0.3),
        "fc.bias": rng.normal(size=5, scale=0.1),
    }
    nodes = [
        helper.make_node("Conv", ["image", "conv.weight"], ["conv"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv"], ["relu"]),
        helper.make_node("GlobalAveragePool", ["relu"], ["pool"]),
        helper.make_node("Flatten", ["pool"], ["flat"]),
        helper.make_node("Gemm", ["flat", "fc.weight", "fc.bias"], ["logits"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "consumer",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 5])],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "model.onnx")
    np.savez(folder / "samples.npz", image=rng.normal(size=(4, 3, 8, 8)).astype(np.float32))


if __name__ == "__main__":
    main()
