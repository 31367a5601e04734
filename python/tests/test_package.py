"""What comes with the package: the command, the types of the native module, runnable examples."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import bitsweep
from bitsweep import _ort

MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(bitsweep.__path__, "bitsweep.")
    if not m.name.endswith(("__main__", "_core"))
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_public_names_exist_and_are_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__
    for public in getattr(module, "__all__", ()):
        value = getattr(module, public)
        if callable(value) and getattr(value, "__module__", "").startswith("bitsweep"):
            assert value.__doc__, f"{name}.{public}"


def test_module_runs_the_command():
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    done = subprocess.run(
        [sys.executable, "-m", "bitsweep", "--help"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert "sweep" in done.stdout


def test_the_runtime_that_the_environment_names_is_opened():
    library = _ort.library_path()
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    script = (
        "import bitsweep; from models import *; g = Graph();"
        "bitsweep.QuantizationSimModel(g.model({'x': (1, 2)}, {'y': g.op('Relu', ['x'], 'y')}))"
    )

    def run(path: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            env=environment | {"BITSWEEP_ORT_LIB": path},
        )

    assert run(library).returncode == 0
    assert "/nowhere.so" in run("/nowhere.so").stderr


def test_a_missing_command_gets_a_sentence(monkeypatch, capsys, tmp_path):
    from bitsweep import _cli

    monkeypatch.setattr(_cli._core, "__file__", str(tmp_path / "_core.so"))
    assert _cli.main() == 1
    assert "pip install bitsweep" in capsys.readouterr().err


def test_stub_matches_the_native_module():
    stubgen = pytest.importorskip("nanobind.stubgen")
    from bitsweep import _core

    generator = stubgen.StubGen(_core)
    generator.put(_core)
    committed = Path(__file__).parents[1] / "bitsweep" / "_core.pyi"
    assert committed.read_text() == generator.get(), (
        "copy the stub that the build writes beside _core over python/bitsweep/_core.pyi"
    )
