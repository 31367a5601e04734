"""What can be wrong with folders, prefixes, encodings and QDQ models: one sentence each, and nothing half-written."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import bitsweep
from bitsweep import QuantizationSimModel
from bitsweep.quantsim import load_encodings_to_sim

# A limit on the size of files acts as a disk that is full.
FULL_DISK = """
import resource, signal, sys
import numpy as np, onnx, bitsweep
from bitsweep.quantsim import QuantizationSimModel
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
model, folder, what = sys.argv[1:]
proto = onnx.load(model)
shape = [d.dim_value or 1 for d in proto.graph.input[0].type.tensor_type.shape.dim]
feeds = [{proto.graph.input[0].name: np.ones(shape, np.float32)}]
sim = QuantizationSimModel(proto)
sim.compute_encodings(feeds)
qdq = bitsweep._core.to_onnx_qdq(sim.native)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    if what == "export":
        sim.export(folder, "m")
    else:
        qdq.save(folder + "/q.onnx", bitsweep._core.ExternalData[what])
except bitsweep.Error as refusal:
    print(refusal)
else:
    print("no error")
"""


@pytest.mark.parametrize("what", ["export", "ALWAYS", "NEVER"])
def test_a_full_disk_leaves_nothing_half_written(cnn, tmp_path, what):
    onnx.save(cnn.model, tmp_path / "m.onnx")
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "q.onnx").write_bytes(b"before")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path / "m.onnx", folder, what],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "File too large" in done.stdout
    assert str(folder) in done.stdout
    assert [p.name for p in folder.iterdir()] == ["q.onnx"]
    assert (folder / "q.onnx").read_bytes() == b"before"


@pytest.mark.parametrize("what", ["export", "ALWAYS", "NEVER"])
def test_a_folder_that_may_only_be_read_is_named(cnn_sim, read_only_folder, not_root, what):
    if what == "export":
        write = functools.partial(cnn_sim.export, read_only_folder, "m")
    else:
        qdq = bitsweep._core.to_onnx_qdq(cnn_sim.native)
        how = bitsweep._core.ExternalData[what]
        write = functools.partial(qdq.save, read_only_folder / "q.onnx", how)
    with not_root(), pytest.raises(OSError, match=str(read_only_folder)) as caught:
        write()
    assert "Permission denied" in str(caught.value) or "is not writable" in str(caught.value)
    assert not list(read_only_folder.iterdir())


def test_a_folder_that_is_missing_or_a_file_is_named(cnn_sim, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in ("missing", "file"):
        with pytest.raises(bitsweep.Error, match=rf'there is no folder ".*{folder}"'):
            cnn_sim.export(tmp_path / folder, "m")
    native = bitsweep._core.to_onnx_qdq(cnn_sim.native)
    with pytest.raises(bitsweep.Error, match=r'cannot write ".*q\.onnx": No such file'):
        native.save(tmp_path / "missing" / "q.onnx")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "prefix", ["a b", " ", "mödel", "模型", "m.v1", "%s{}$(x)", "-o", "a\\b", '"q"']
)
def test_odd_prefixes_name_the_files_as_they_are(cnn, cnn_sim, tmp_path, prefix):
    cnn_sim.export(tmp_path, prefix)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [f"{prefix}.encodings", f"{prefix}.onnx"]
    )
    other = QuantizationSimModel(str(tmp_path / f"{prefix}.onnx"))
    load_encodings_to_sim(other, tmp_path / f"{prefix}.encodings", strict=False)
    np.testing.assert_array_equal(
        other.session.run(None, cnn.feeds[0])[0], cnn_sim.session.run(None, cnn.feeds[0])[0]
    )


@pytest.mark.parametrize("prefix", ["", "a/b", "/m", "../m", "a\0b"])
def test_prefixes_that_leave_the_folder_are_refused(cnn_sim, tmp_path, prefix):
    with pytest.raises(bitsweep.Error, match="is no prefix of file names"):
        cnn_sim.export(tmp_path, prefix)
    assert not list(tmp_path.iterdir())


def break_entry(document, version, change):
    entry = document["encodings" if version == "2.0.0" else "param_encodings"][0]
    change(entry)
    return document


@pytest.mark.parametrize(
    ("version", "change", "message"),
    [
        ("1.0.0", lambda e: e.update(name="nowhere"), '"nowhere", which the model does not have'),
        ("1.0.0", lambda e: e.pop("scale"), 'has no "scale"'),
        ("1.0.0", lambda e: e.pop("enc_type"), 'has no "enc_type"'),
        ("1.0.0", lambda e: e.update(scale=[]), "scale"),
        ("1.0.0", lambda e: e["offset"].append(0.0), '"offset"'),
        ("1.0.0", lambda e: e.update(scale=[float("nan")] * len(e["scale"])), "finite|JSON"),
        ("1.0.0", lambda e: e.update(scale=[float("inf")] * len(e["scale"])), "finite|JSON"),
        ("1.0.0", lambda e: e.update(scale=[0.0] * len(e["scale"])), "scale of 0"),
        ("1.0.0", lambda e: e.update(bw="eight"), '"bw"'),
        ("1.0.0", lambda e: e.update(enc_type="PER_ROW"), "PER_ROW"),
        ("2.0.0", lambda e: e.pop("y_scale"), 'has no "y_scale"'),
        ("2.0.0", lambda e: e.pop("output_dtype"), 'has no "output_dtype"'),
        ("2.0.0", lambda e: e.update(axis=9), "axis"),
        ("2.0.0", lambda e: e.update(y_scale=[0.1, 0.1]), r"2|scale"),
        ("2.0.0", lambda e: e.update(nonsense=1), '"nonsense"'),
    ],
)
def test_broken_entries_are_named_and_change_nothing(
    cnn, cnn_sim, tmp_path, version, change, message
):
    cnn_sim.export(tmp_path, "m", export_model=False, encoding_version=version)
    document = json.loads((tmp_path / "m.encodings").read_text())
    other = QuantizationSimModel(cnn.model)
    before = {n: (q.enabled, q.bitwidth) for n, q in other.qc_quantize_op_dict.items()}
    with pytest.raises(bitsweep.Error, match=message) as caught:
        load_encodings_to_sim(other, break_entry(document, version, change), strict=False)
    assert "\n" not in str(caught.value)
    assert {n: (q.enabled, q.bitwidth) for n, q in other.qc_quantize_op_dict.items()} == before


@pytest.mark.parametrize("version", ["0.5.0", "3.0.0", "2", "", None, 2.0])
def test_unknown_versions_are_refused(cnn, version):
    with pytest.raises(bitsweep.Error, match="version"):
        load_encodings_to_sim(
            QuantizationSimModel(cnn.model), {"version": version, "encodings": []}, strict=False
        )


def qdq(nodes, outputs):
    values = {"s": np.float32(0.1), "t": np.float32(0.5), "z": np.uint8(3), "k": np.uint8(4)}
    graph = helper.make_graph(
        [*nodes],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [onnx.ValueInfoProto(name=o) for o in outputs],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in values.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


node = helper.make_node
QUANTIZE = node("QuantizeLinear", ["x", "s", "z"], ["q"], name="quantize")
DEQUANTIZE = node("DequantizeLinear", ["q", "s", "z"], ["d"], name="dequantize")


@pytest.mark.parametrize(
    ("nodes", "outputs", "message"),
    [
        ([QUANTIZE, node("Identity", ["q"], ["y"])], ["y"], '"quantize".*"q|Identity.*reads its codes'),
        ([QUANTIZE, DEQUANTIZE, node("Relu", ["d"], ["y"])], ["y", "q"], '"quantize".*are an output'),
        (
            [QUANTIZE, node("DequantizeLinear", ["q", "t", "z"], ["y"], name="other")],
            ["y"],
            '"other".*is not that of "quantize"',
        ),
        (
            [QUANTIZE, node("DequantizeLinear", ["q", "s", "k"], ["y"], name="other")],
            ["y"],
            '"other".*is not that of "quantize"',
        ),
        (
            [node("Cast", ["x"], ["c"], to=TensorProto.UINT8),
             node("DequantizeLinear", ["c", "s", "z"], ["y"], name="lonely")],
            ["y"],
            '"lonely".*nothing known quantizes',
        ),
        (
            [node("ReduceMax", ["x"], ["m"], keepdims=0),
             node("QuantizeLinear", ["x", "m", "z"], ["q"]),
             node("DequantizeLinear", ["q", "m", "z"], ["y"], name="moving")],
            ["y"],
            'its scale "m" is no constant',
        ),
        (
            [node("DequantizeLinear", ["k", "s", "z"], ["w"]),
             node("QuantizeLinear", ["w", "t", "z"], ["q"], name="twice"),
             node("DequantizeLinear", ["q", "t", "z"], ["v"]),
             node("Add", ["x", "v"], ["y"])],
            ["y"],
            '"twice".*"w" is quantized already',
        ),
        (
            [QUANTIZE, DEQUANTIZE,
             node("QuantizeLinear", ["d", "t", "z"], ["p"], name="twice"),
             node("DequantizeLinear", ["p", "t", "z"], ["y"])],
            ["y"],
            '"twice".*"d" is quantized already',
        ),
    ],
)  # fmt: skip
def test_patterns_that_map_to_no_quantizer_are_named(nodes, outputs, message):
    with pytest.raises(bitsweep.Error, match=message) as caught:
        QuantizationSimModel.from_onnx_qdq(qdq(nodes, outputs))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("scale", [0.0, -0.1, float("nan"), float("inf")])
def test_scales_that_are_no_steps_are_named(scale):
    model = qdq([QUANTIZE, DEQUANTIZE, node("Relu", ["d"], ["y"])], ["y"])
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.float32(scale), "s"))
    with pytest.raises(bitsweep.Error, match=r'a scale of "x" is .*finite scales above 0'):
        QuantizationSimModel.from_onnx_qdq(model)


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize(
    ("version", "change", "message"),
    [
        ("0.6.1", lambda d: d.pop("param_encodings"), '"param_encodings"'),
        ("1.0.0", lambda d: d.pop("activation_encodings"), '"activation_encodings"'),
        ("1.0.0", lambda d: d.update(param_encodings={}), '"param_encodings"'),
        ("2.0.0", lambda d: d.pop("encodings"), '"encodings"'),
        ("2.0.0", lambda d: d.update(encodings=[1]), 'without "name"'),
    ],
)
def test_files_without_their_parts_are_refused(cnn, cnn_sim, tmp_path, version, change, message):
    cnn_sim.export(tmp_path, "m", export_model=False, encoding_version=version)
    document = json.loads((tmp_path / "m.encodings").read_text())
    change(document)
    with pytest.raises(bitsweep.Error, match=message) as caught:
        load_encodings_to_sim(QuantizationSimModel(cnn.model), document, strict=False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"nowhere": [{"quant_type": "QUInt8", "scale": 0.1, "zero_point": 3}]}, "nowhere"),
        ({"input": [{"quant_type": "QUInt99", "scale": 0.1, "zero_point": 3}]}, "QUInt99"),
        ({"input": [{"quant_type": "QUInt8", "scale": -1.0, "zero_point": 3}]}, "scale"),
        ({"input": [{"quant_type": "QUInt8", "scale": 0.1, "zero_point": 999}]}, "zero point"),
    ],
)
def test_broken_overrides_are_named(cnn, overrides, message):
    name = cnn.model.graph.input[0].name
    given = {name if k == "input" else k: v for k, v in overrides.items()}
    with pytest.raises(bitsweep.Error, match=message):
        QuantizationSimModel(cnn.model).load_ort_overrides(given)
