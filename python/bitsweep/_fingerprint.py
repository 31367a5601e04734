"""What decides the answers of a Python function, as one hash.

A kept score may be served only for the same question. So the hash covers what can be seen: code, default arguments,
variables that the function encloses, global variables and functions that it names, objects with all their parts, arrays
by content, models by content. Installed packages count by version. What cannot be read (a generator, an open file) is
refused; what lies outside of the process (files, the network, a clock) cannot be seen, and is what `identity` of a
``SensitivityMetric`` is for.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import importlib
import importlib.util
import pickle
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bitsweep import _core
from bitsweep._evaluators import Evaluator
from bitsweep.errors import InvalidArgumentError, error
from bitsweep.qc_quantize_op import QcQuantizeOp
from bitsweep.quantsim import QuantizationSimModel
from bitsweep.session import Session

__all__ = ["fingerprint"]

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
_WRITTEN_BY_PYTHON = {"__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__"}


def fingerprint(value: Any, name: str) -> str:
    """Hash of all that decides what `value`, usually a function, answers.

    Parameters
    ----------
    value : object
    name : str
        What the value is called in the text of an error.

    Returns
    -------
    str
        Hexadecimal; equal in every process of the same Python version where the content is equal.

    Raises
    ------
    ValueError
        When a part of it cannot be read; the text names the part and the way out.
    """
    walker = _Walker()
    walker.add(sys.version_info[:3], name)
    walker.add(value, name)
    return walker.digest()


@functools.cache
def _is_installed(location: str) -> bool:
    """Whether a file or folder belongs to Python or to an installed package."""
    path = Path(location).resolve()
    keys = ("stdlib", "platstdlib", "purelib", "platlib")
    return any(path.is_relative_to(Path(sysconfig.get_path(key)).resolve()) for key in keys)


def _installed_version(module: str) -> str | None:
    """Name and version of the package that a module belongs to; None for a module of the user's own."""
    top = module.partition(".")[0]
    package = sys.modules.get(top)
    locations = [getattr(package, "__file__", None), *getattr(package, "__path__", ())]
    location = next((where for where in locations if where), None)
    if location is None:
        installed = top in sys.stdlib_module_names and top != "__main__"
    else:
        installed = top == __name__.partition(".")[0] or _is_installed(location)
    return f"{top} {getattr(package, '__version__', '')}" if installed else None


class _Walker:
    """Feeds a value and all that it refers to into one hash, each mutable object once."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # an address may be used again after its object has gone

    def digest(self) -> str:
        return self._hash.hexdigest()

    def add(self, value: Any, path: str) -> None:
        """Adds a value; `path` says how it was reached, for errors."""
        if isinstance(value, _PLAIN) and type(value) in _PLAIN:
            self._feed(type(value).__name__, repr(value))
        elif type(value) is tuple:
            self._sequence("tuple", value, path)
        elif id(value) in self._seen:
            self._feed("again", str(self._seen[id(value)]))
        else:
            self._seen[id(value)] = len(self._seen)
            self._alive.append(value)
            self._object(value, path)

    def _feed(self, *parts: str | bytes) -> None:
        for part in parts:
            data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            self._hash.update(len(data).to_bytes(8, "little"))
            self._hash.update(data)

    def _sequence(self, kind: str, values: Iterable[Any], path: str) -> None:
        items = list(values)
        self._feed(kind, str(len(items)))
        for i, item in enumerate(items):
            self.add(item, f"{path}[{i}]")

    def _mapping(self, kind: str, mapping: Any, path: str) -> None:
        self._feed(kind, str(len(mapping)))
        for key, item in mapping.items():
            self.add(key, path)
            self.add(item, f"{path}.{key}")

    def _object(self, value: Any, path: str) -> None:
        kind = type(value)
        if kind is list:
            self._sequence("list", value, path)
        elif kind is dict or kind is types.MappingProxyType:
            self._mapping("dict", value, path)
        elif kind in (set, frozenset):
            self._feed("set", *sorted(_digest_of(item, path) for item in value))
        elif isinstance(value, (np.ndarray, np.generic)):
            self._array(np.asarray(value), path)
        elif isinstance(value, types.CodeType):
            self._code(value, path)
        elif isinstance(value, types.FunctionType):
            self._function(value, path)
        elif isinstance(value, types.MethodType):
            self._sequence("method", (value.__func__, value.__self__), path)
        elif isinstance(value, types.BuiltinFunctionType):
            self._feed("builtin", value.__qualname__)
            if not isinstance(value.__self__, types.ModuleType):
                self.add(value.__self__, path)
        elif isinstance(value, types.ModuleType):
            self._module(value)
        elif isinstance(value, type):
            self._class(value, path)
        elif isinstance(value, (staticmethod, classmethod)):
            self._sequence(kind.__name__, (value.__func__,), path)
        elif isinstance(value, property):
            self._sequence("property", (value.fget, value.fset), path)
        elif isinstance(value, types.CellType):
            self._cell(value, path)
        elif not self._known_kind(value, path):
            self._reduced(value, path)

    def _array(self, array: np.ndarray, path: str) -> None:
        self._feed("array", str(array.dtype.descr), str(array.shape))
        if array.dtype.hasobject:
            self._sequence("objects", array.tolist(), path)
        else:
            self._feed(np.ascontiguousarray(array).tobytes())

    def _code(self, code: types.CodeType, path: str) -> None:
        self._feed("code", code.co_code, str(code.co_flags), str(code.co_argcount))
        self._feed(str(code.co_posonlyargcount), str(code.co_kwonlyargcount))
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self.add((names, code.co_consts), path)

    def _function(self, function: types.FunctionType, path: str) -> None:
        version = _installed_version(function.__module__ or "")
        if version is not None and "<locals>" not in function.__qualname__:
            self._feed("installed", version, function.__module__, function.__qualname__)
            return
        self._feed("function")
        self.add(function.__code__, path)
        self.add((function.__defaults__, function.__kwdefaults__), path)
        self.add(vars(function), path)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self.add(cell, f"{path}.{name}")
        names = _all_names(function.__code__)
        self._names(names, function.__globals__, path)
        for module in _imports(function.__code__, function.__globals__.get("__package__") or ""):
            self._feed("import", module.__name__)
            self.add(module, f"{path}.{module.__name__}")
            self._names_of_module(names, module, f"{path}.{module.__name__}")

    def _cell(self, cell: types.CellType, path: str) -> None:
        try:
            content = cell.cell_contents
        except ValueError:
            self._feed("not assigned yet")
        else:
            self.add(content, path)

    def _names(self, names: list[str], scope: dict[str, Any], path: str) -> None:
        """What a function may reach by these names: in its module, and in modules of the user's own behind them."""
        for name in names:
            if name not in scope:
                continue
            self._feed("global", name)
            found = scope[name]
            self.add(found, f"{path}.{name}")
            if isinstance(found, types.ModuleType):
                self._names_of_module([n for n in names if n != name], found, f"{path}.{name}")

    def _names_of_module(self, names: list[str], module: types.ModuleType, path: str) -> None:
        if _installed_version(module.__name__) is None:
            self._names(names, vars(module), path)

    def _module(self, module: types.ModuleType) -> None:
        version = _installed_version(module.__name__)
        self._feed("module", module.__name__, version or "")
        file = getattr(module, "__file__", None)
        if version is None and file is not None:
            self._feed(Path(file).read_bytes())

    def _class(self, kind: type, path: str) -> None:
        version = _installed_version(kind.__module__)
        self._feed("class", kind.__module__, kind.__qualname__, version or "")
        if version is not None and "<locals>" not in kind.__qualname__:
            return
        self._sequence("bases", kind.__bases__, path)
        parts = {n: v for n, v in vars(kind).items() if n not in _WRITTEN_BY_PYTHON}
        parts = {n: v for n, v in parts.items() if not isinstance(v, _DESCRIPTORS)}
        self._mapping("parts", parts, f"{path}.{kind.__name__}")

    def _known_kind(self, value: Any, path: str) -> bool:
        """Objects whose content is not in their attributes."""
        if isinstance(value, Evaluator):
            self._sequence("evaluator", value.content(), path)
        elif isinstance(value, (QuantizationSimModel, Session)):
            self._simulation(value.native, path)
        elif isinstance(value, _core.Simulation):
            self._simulation(value, path)
        elif isinstance(value, QcQuantizeOp):
            self._quantizer(value.native, path)
        elif isinstance(value, _core.Model):
            self._feed("model", value.content_hash())
        elif hasattr(value, "SerializeToString"):  # a protobuf message
            self._feed("message", value.SerializeToString(deterministic=True))
        elif type(value).__module__.startswith("onnxruntime") and hasattr(value, "_model_bytes"):
            self._feed("session", *_model_of_session(value))
        elif hasattr(value, "cache_info") and hasattr(value, "__wrapped__"):
            self._sequence("cached", (value.__wrapped__,), path)
        else:
            return False
        return True

    def _simulation(self, simulation: _core.Simulation, path: str) -> None:
        self._feed("simulation", simulation.model.content_hash())
        for tensor in simulation.tensor_names():
            self._feed(tensor)
            self._quantizer(simulation.quantizer(tensor), path)

    def _quantizer(self, quantizer: _core.Quantizer, path: str) -> None:
        encoding = quantizer.encoding
        self._feed("quantizer", quantizer.format.name, str(quantizer.enabled))
        cells = [] if encoding is None else encoding.cells
        self._sequence("cells", ((c.min, c.max, c.delta, c.offset) for c in cells), path)

    def _reduced(self, value: Any, path: str) -> None:
        """Any other object, taken apart as pickle does it; but its class and functions count with their code."""
        try:
            parts = value.__reduce_ex__(4)
        except (TypeError, AttributeError, pickle.PicklingError) as e:
            raise _unreadable(value, path) from e
        if isinstance(parts, str):
            if _installed_version(getattr(value, "__module__", "")) is None:
                raise _unreadable(value, path)
            self._feed("named", parts)
            return
        make, arguments, state, items, pairs = (*parts, None, None, None)[:5]
        self._feed("object")
        self.add(make, path)
        self.add(arguments, path)
        if isinstance(state, dict):
            self._mapping("state", state, path)
        else:
            self.add(state, path)
        self._sequence("items", () if items is None else items, path)
        self._sequence("pairs", () if pairs is None else pairs, path)


_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)


def _digest_of(value: Any, path: str) -> str:
    walker = _Walker()
    walker.add(value, path)
    return walker.digest()


def _all_names(code: types.CodeType) -> list[str]:
    """Names that a function and those defined inside it look up, modules that it imports among them."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _all_names(constant)
    return names


def _imports(code: types.CodeType, package: str) -> Iterator[types.ModuleType]:
    """Modules that a function imports when it runs."""
    steps = list(dis.get_instructions(code))
    for i, step in enumerate(steps):
        if step.opname != "IMPORT_NAME":
            continue
        level = steps[i - 2].argval  # pushed in front of the list of names
        name = importlib.util.resolve_name("." * level + step.argval, package)
        try:
            yield importlib.import_module(name)
        except ImportError:
            continue  # it cannot be imported by the function either
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _imports(constant, package)


def _model_of_session(session: Any) -> tuple[str, ...]:
    """The model of an ``onnxruntime.InferenceSession``, external weights included."""
    if session._model_bytes:
        return (_core.Model.parse(session._model_bytes).content_hash(),)
    return (_core.Model.load(Path(session._model_path)).content_hash(),)


def _unreadable(value: Any, path: str) -> ValueError:
    return error(
        InvalidArgumentError,
        "run directory",
        f"scores cannot be kept, because {path} is a {type(value).__name__}, whose content cannot be read",
        'name the question yourself: SensitivityMetric(..., identity="accuracy, validation set of May"), '
        "and change the text whenever function or data change",
    )
