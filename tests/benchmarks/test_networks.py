"""The built-in networks have the sizes that their papers and torchvision give."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import networks

# torchvision's parameter counts, where every channel of a convolution has batch-norm weight and bias;
# after folding there is one bias instead of the two.
PARAMETERS = {"resnet18": 11_689_512, "mobilenet_v2": 3_504_872}
CONVOLUTIONS = {"resnet18": 20, "mobilenet_v2": 52}


@pytest.mark.parametrize("name", networks.BUILDERS)
def test_size_equals_that_of_torchvision(name):
    model = networks.BUILDERS[name]()
    ops = Counter(node.op_type for node in model.graph.node)
    assert ops["Conv"] == CONVOLUTIONS[name]
    weights = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    channels = sum(
        len(weights[node.input[2]]) for node in model.graph.node if node.op_type == "Conv"
    )
    size = sum(weight.size for key, weight in weights.items() if not key.startswith("relu6"))
    assert size + channels == PARAMETERS[name]


@pytest.mark.parametrize("name", networks.BUILDERS)
def test_activations_stay_in_a_sane_range(name):
    session = ort.InferenceSession(
        networks.BUILDERS[name]().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (logits,) = session.run(None, {"image": networks.smooth_images(1, seed=1)})
    assert logits.shape == (1, 1000)
    assert 0.1 < logits.std() < 100


def test_weights_depend_on_the_seed_only():
    build = networks.mobilenet_v2
    assert build(1).SerializeToString() == build(1).SerializeToString()
    assert build(1).SerializeToString() != build(2).SerializeToString()


def test_images_differ_and_repeat():
    images = networks.smooth_images(2, seed=3)
    assert images.dtype == np.float32
    assert not np.array_equal(images[0], images[1])
    np.testing.assert_array_equal(images, networks.smooth_images(2, seed=3))
