"""A library with an operator of its own, as a user would bring it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def build_triple(folder: Path) -> Path:
    """Builds the library with the operator Triple of the domain "test.ops"; skips without a C compiler."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    library = folder / "triple.so"
    headers = ROOT / "third_party/onnxruntime/include"
    source = ROOT / "tests/custom_op/triple.c"
    command = ["cc", "-shared", "-fPIC", f"-I{headers}", f"-I{headers}/core/session"]
    subprocess.run([*command, "-o", library, source], check=True)
    return library
