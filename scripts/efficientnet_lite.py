"""EfficientNet-Lite0 as an ONNX model, from the weights file that its Python package ships.

The file is a torch archive of the old kind. It is read here by an unpickler that knows the four names such a file
needs and refuses all others: no torch to install, and nothing in the download can run.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

IMAGE_SIZE = 224
NUM_CLASSES = 1000

# (expansion, kernel, first stride, repeats). Source: Tan and Le 2019, EfficientNet, table 1; Lite drops squeeze-and-
# excitation and swaps swish for ReLU6. Channels are read off the weights.
STAGES = (
    (1, 3, 1, 1),
    (6, 3, 2, 2),
    (6, 5, 2, 2),
    (6, 3, 2, 3),
    (6, 5, 1, 3),
    (6, 5, 2, 4),
    (6, 3, 1, 1),
)
BATCH_NORM_EPSILON = 1e-3

Weights = dict[str, np.ndarray]


@dataclass(frozen=True)
class _Storage:
    key: str
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class _View:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def resolve(self, buffers: dict[str, np.ndarray]) -> np.ndarray:
        buffer = buffers[self.storage.key][self.offset :]
        strides = tuple(stride * buffer.itemsize for stride in self.strides)
        return np.lib.stride_tricks.as_strided(buffer, self.shape, strides).copy()


def _view(
    storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object
) -> _View:
    return _View(storage, offset, shape, strides)


class _WeightsUnpickler(pickle.Unpickler):
    ALLOWED: ClassVar = {
        ("collections", "OrderedDict"): OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2"): _view,
        ("torch", "FloatStorage"): np.dtype(np.float32),
        ("torch", "LongStorage"): np.dtype(np.int64),
    }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self.ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"a weights file has no business with {module}.{name}"
            ) from None

    def persistent_load(self, pid: Any) -> _Storage:
        _, dtype, key = pid[:3]
        return _Storage(key, dtype)


def read_torch_weights(data: bytes) -> Weights:
    """Tensors by name: three header pickles, the dictionary, the storage keys, then every storage's count and values."""
    stream = io.BytesIO(data)
    views: dict[str, _View] = {}
    for _ in range(4):
        views = _WeightsUnpickler(stream).load()
    keys = _WeightsUnpickler(stream).load()
    dtypes = {view.storage.key: view.storage.dtype for view in views.values()}
    buffers = {}
    for key in keys:
        count = int(np.frombuffer(stream.read(8), np.int64)[0])
        buffers[key] = np.frombuffer(stream.read(count * dtypes[key].itemsize), dtypes[key])
    return {name: view.resolve(buffers) for name, view in views.items()}


class _Network:
    """The graph in the making; names of tensors say which block they belong to, since reports show them."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.size = IMAGE_SIZE
        self.bounds = [
            self.initializer("relu6.min", np.float32(0.0)),
            self.initializer("relu6.max", np.float32(6.0)),
        ]

    def initializer(self, name: str, value: np.ndarray | np.float32) -> str:
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op_type: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op_type, inputs, [output], name=output, **attributes))
        return output

    def conv(
        self, x: str, scope: str, conv: str, norm: str, *, stride: int = 1, relu6: bool = True
    ) -> str:
        """Convolution, batch norm and, unless `relu6` is off, ReLU6."""
        weight = self.weights[f"{conv}.weight"]
        kernel = weight.shape[2]
        depthwise = weight.shape[1] == 1
        # TensorFlow's SAME padding: an odd rest goes to the right and the bottom.
        out_size = -(-self.size // stride)
        pad = max((out_size - 1) * stride + kernel - self.size, 0)
        self.size = out_size
        x = self.node(
            "Conv",
            [x, self.initializer(f"{scope}.weight", weight)],
            f"{scope}.conv",
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[pad // 2, pad // 2, pad - pad // 2, pad - pad // 2],
            group=weight.shape[0] if depthwise else 1,
        )
        kinds = ("weight", "bias", "running_mean", "running_var")
        parameters = [
            self.initializer(f"{scope}.bn.{kind}", self.weights[f"{norm}.{kind}"]) for kind in kinds
        ]
        x = self.node(
            "BatchNormalization", [x, *parameters], f"{scope}.bn", epsilon=BATCH_NORM_EPSILON
        )
        return self.node("Clip", [x, *self.bounds], f"{scope}.relu6") if relu6 else x


def build(weights: Weights) -> onnx.ModelProto:
    """float32 `image` [batch,3,224,224], pixels as (value - 127) / 128, to `logits` [batch,1000]."""
    net = _Network(weights)
    x = net.conv("image", "stem", "_conv_stem", "_bn0", stride=2)
    index = 0
    for expansion, _, first_stride, repeats in STAGES:
        for repeat in range(repeats):
            source, scope, block = x, f"block{index}", f"_blocks.{index}"
            if expansion != 1:
                x = net.conv(x, f"{scope}.expand", f"{block}._expand_conv", f"{block}._bn0")
            stride = first_stride if repeat == 0 else 1
            x = net.conv(
                x, f"{scope}.depthwise", f"{block}._depthwise_conv", f"{block}._bn1", stride=stride
            )
            x = net.conv(
                x, f"{scope}.project", f"{block}._project_conv", f"{block}._bn2", relu6=False
            )
            if repeat > 0:
                x = net.node("Add", [x, source], f"{scope}.add")
            index += 1
    x = net.conv(x, "head", "_conv_head", "_bn1")
    x = net.node("Flatten", [net.node("GlobalAveragePool", [x], "pool")], "features", axis=1)
    parameters = [
        net.initializer(f"classifier.{kind}", weights[f"_fc.{kind}"]) for kind in ("weight", "bias")
    ]
    net.node("Gemm", [x, *parameters], "logits", transB=1)
    graph = helper.make_graph(
        net.nodes,
        "efficientnet_lite0",
        [
            helper.make_tensor_value_info(
                "image", TensorProto.FLOAT, ["batch", 3, IMAGE_SIZE, IMAGE_SIZE]
            )
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", NUM_CLASSES])],
        net.initializers,
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
        producer_name="bitsweep demo",
    )
    onnx.checker.check_model(model, full_check=True)
    return model
