"""Float ONNX models of two well-known architectures, with seeded random weights.

The graphs are what a batch-norm-folding exporter writes for torchvision's networks: convolutions with bias, Relu or
Clip, residual Add. Timings and bookkeeping do not depend on what weights mean, so no training and no torch is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

IMAGE_SIZE = 224
NUM_CLASSES = 1000


class _Builder:
    """Collects nodes and initializers of one network; every method returns the name of the tensor it makes."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self._random = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: np.ndarray | np.float32) -> str:
        self._initializers[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def op(self, op_type: str, scope: str, inputs: list[str], **attributes: Any) -> str:
        output = f"{scope}/{op_type}_output_0"
        node = helper.make_node(op_type, inputs, [output], name=f"{scope}/{op_type}", **attributes)
        self._nodes.append(node)
        return output

    def weight(self, name: str, shape: tuple[int, ...], gain: float) -> str:
        """He-normal weights. Channels differ in spread, as those of trained and folded networks do."""
        fan_in = int(np.prod(shape[1:]))
        values = self._random.standard_normal(shape) * gain * np.sqrt(2.0 / fan_in)
        spread = np.exp(0.3 * self._random.standard_normal(shape[0]))
        values *= spread.reshape(-1, *[1] * (len(shape) - 1))
        return self.constant(name, values.astype(np.float32))

    def conv(
        self,
        x: str,
        scope: str,
        channels: tuple[int, int],
        kernel: int,
        *,
        stride: int = 1,
        groups: int = 1,
        gain: float = 1.0,
    ) -> str:
        inputs, outputs = channels
        name = scope.rsplit("/", 1)[-1]
        weight = self.weight(f"{name}.weight", (outputs, inputs // groups, kernel, kernel), gain)
        bias = self.constant(
            f"{name}.bias", self._random.normal(0.0, 0.05, outputs).astype(np.float32)
        )
        return self.op(
            "Conv",
            scope,
            [x, weight, bias],
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[(kernel - 1) // 2] * 4,
            dilations=[1, 1],
            group=groups,
        )

    def relu6(self, x: str, scope: str) -> str:
        bounds = [
            self.constant("relu6.min", np.float32(0.0)),
            self.constant("relu6.max", np.float32(6.0)),
        ]
        return self.op("Clip", scope, [x, *bounds])

    def classifier(self, x: str, features: int, name: str) -> str:
        pooled = self.op(
            "Flatten", "/flatten", [self.op("GlobalAveragePool", "/avgpool", [x])], axis=1
        )
        weight = self.weight(f"{name}.weight", (NUM_CLASSES, features), 1.0)
        bias = self.constant(f"{name}.bias", np.zeros(NUM_CLASSES, np.float32))
        return self.op("Gemm", f"/{name}", [pooled, weight, bias], transB=1)

    def model(self, output: str) -> onnx.ModelProto:
        self._nodes[-1].output[0] = "logits"
        assert output == f"{self._nodes[-1].name}_output_0", "the classifier must come last"
        graph = helper.make_graph(
            self._nodes,
            self.name,
            [
                helper.make_tensor_value_info(
                    "image", TensorProto.FLOAT, [1, 3, IMAGE_SIZE, IMAGE_SIZE]
                )
            ],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, NUM_CLASSES])],
            list(self._initializers.values()),
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        return model


def resnet18(seed: int = 0) -> onnx.ModelProto:
    """ResNet-18. Source: He et al. 2015, Deep Residual Learning, table 1."""
    net = _Builder("resnet18", seed)
    x = net.op("Relu", "/relu", [net.conv("image", "/conv1", (3, 64), 7, stride=2)])
    x = net.op("MaxPool", "/maxpool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    inputs = 64
    for stage, outputs in enumerate((64, 128, 256, 512), start=1):
        for block in range(2):
            stride = 2 if stage > 1 and block == 0 else 1
            name = f"layer{stage}.{block}"
            scope = f"/layer{stage}/{name}"
            y = net.conv(x, f"{scope}/{name}.conv1", (inputs, outputs), 3, stride=stride)
            y = net.op("Relu", f"{scope}/relu", [y])
            # A residual branch of half the spread keeps activations from doubling with every block.
            y = net.conv(y, f"{scope}/{name}.conv2", (outputs, outputs), 3, gain=0.5)
            if stride != 1 or inputs != outputs:
                x = net.conv(
                    x, f"{scope}/{name}.downsample", (inputs, outputs), 1, stride=stride, gain=0.7
                )
            x = net.op("Relu", f"{scope}/relu_1", [net.op("Add", scope, [y, x])])
            inputs = outputs
    return net.model(net.classifier(x, 512, "fc"))


def mobilenet_v2(seed: int = 0) -> onnx.ModelProto:
    """MobileNetV2, width 1. Source: Sandler et al. 2018, Inverted Residuals and Linear Bottlenecks, table 2."""
    net = _Builder("mobilenet_v2", seed)
    x = net.relu6(net.conv("image", "/features.0", (3, 32), 3, stride=2), "/features.0/relu6")
    inputs, index = 32, 1
    stages = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    for expansion, outputs, repeats, first_stride in stages:
        for repeat in range(repeats):
            stride = first_stride if repeat == 0 else 1
            scope = f"/features.{index}"
            hidden = inputs * expansion
            y = x
            if expansion != 1:
                y = net.relu6(
                    net.conv(y, f"{scope}/features.{index}.expand", (inputs, hidden), 1),
                    f"{scope}/expand",
                )
            y = net.conv(
                y,
                f"{scope}/features.{index}.depthwise",
                (hidden, hidden),
                3,
                stride=stride,
                groups=hidden,
            )
            y = net.relu6(y, f"{scope}/depthwise")
            y = net.conv(y, f"{scope}/features.{index}.project", (hidden, outputs), 1, gain=0.7)
            x = net.op("Add", scope, [x, y]) if stride == 1 and inputs == outputs else y
            inputs, index = outputs, index + 1
    x = net.relu6(net.conv(x, "/features.18", (inputs, 1280), 1), "/features.18/relu6")
    return net.model(net.classifier(x, 1280, "classifier"))


BUILDERS: dict[str, Callable[[], onnx.ModelProto]] = {
    "resnet18": resnet18,
    "mobilenet_v2": mobilenet_v2,
}


def smooth_images(count: int, seed: int) -> np.ndarray:
    """Random pictures whose power falls with frequency, as that of photographs does; float32, [count,3,224,224]."""
    random = np.random.default_rng(seed)
    rows = np.fft.fftfreq(IMAGE_SIZE)[:, None]
    columns = np.fft.rfftfreq(IMAGE_SIZE)[None, :]
    falloff = 1.0 / np.maximum(np.hypot(rows, columns), 1.0 / IMAGE_SIZE)
    noise = random.standard_normal((count, 3, IMAGE_SIZE, IMAGE_SIZE))
    images = np.fft.irfft2(np.fft.rfft2(noise) * falloff, s=(IMAGE_SIZE, IMAGE_SIZE))
    images /= images.std(axis=(1, 2, 3), keepdims=True)
    return images.astype(np.float32)


def write(name: str, folder: Path, samples: int) -> None:
    """Lays out `folder` as the fetched models are: model.onnx, eval.npz, calib.npz."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(BUILDERS[name](), folder / "model.onnx")
    np.savez(folder / "eval.npz", image=smooth_images(samples, seed=1))
    np.savez(folder / "calib.npz", image=smooth_images(samples, seed=2))
