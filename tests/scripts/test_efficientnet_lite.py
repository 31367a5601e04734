"""The reader of torch weights takes tensors, and nothing else, from a file."""

import io
import pickle
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import efficientnet_lite


class _Global:
    """Pickles as a call of `module.name`, whether or not that module is installed."""

    def __init__(self, module, name, arguments):
        self.target, self.arguments = (module, name), arguments


class _Pickler(pickle._Pickler):
    """Writes globals of modules that are not there, as torch's own archives hold them."""

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, _Global):
            self._global(*obj.target)
            self.save(obj.arguments)
            self.write(pickle.REDUCE)
        elif isinstance(obj, _Storage):
            self.write(pickle.MARK)
            self.save("storage")
            self._global("torch", obj.kind)
            for value in (obj.key, "cpu", obj.count, None):
                self.save(value)
            self.write(pickle.TUPLE + pickle.BINPERSID)
        else:
            super().save(obj, save_persistent_id)

    def _global(self, module, name):
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())


class _Storage:
    def __init__(self, kind, key, count):
        self.kind, self.key, self.count = kind, key, count


def _dump(obj):
    stream = io.BytesIO()
    _Pickler(stream, protocol=2).dump(obj)
    return stream.getvalue()


def _archive(entries, storages):
    """A torch archive of the old kind."""
    head = b"".join(_dump(part) for part in (0x1950A86A20F9469CFC6C, 1001, {}))
    body = _dump(OrderedDict(entries)) + _dump(list(storages))
    tail = b"".join(
        np.int64(values.size).tobytes() + values.tobytes() for values in storages.values()
    )
    return head + body + tail


def _tensor(storage, offset, shape, strides):
    arguments = (storage, offset, shape, strides, False, OrderedDict())
    return _Global("torch._utils", "_rebuild_tensor_v2", arguments)


def test_reads_views_with_offset_and_strides():
    values = np.arange(10, dtype=np.float32)
    storage = _Storage("FloatStorage", "7", 10)
    entries = {
        "rows": _tensor(storage, 1, (2, 3), (3, 1)),
        "columns": _tensor(storage, 1, (3, 2), (1, 3)),
        "count": _tensor(_Storage("LongStorage", "9", 1), 0, (), ()),
    }
    weights = efficientnet_lite.read_torch_weights(
        _archive(entries, {"7": values, "9": np.array([42], np.int64)})
    )
    np.testing.assert_array_equal(weights["rows"], [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(weights["columns"], [[1, 4], [2, 5], [3, 6]])
    assert weights["count"] == 42
    assert weights["count"].dtype == np.int64


def test_refuses_a_file_that_wants_to_call_something_else():
    data = _archive({"weight": _Global("os", "system", ("true",))}, {})
    with pytest.raises(pickle.UnpicklingError, match=r"no business with os\.system"):
        efficientnet_lite.read_torch_weights(data)
