"""A virtual environment that holds the peer, so that its dependencies never meet the project's own."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

# Pinned, so that a later release of one of them does not change the comparison.
REQUIREMENTS = ["aimet-onnx==2.42.0", "onnxruntime==1.32.0", "onnx==1.23.2", "numpy==2.4.6"]


def ensure(folder: Path) -> Path:
    """The Python of the peer's environment in `folder`; makes the environment when it is missing or incomplete."""
    python = folder / "bin" / "python"
    if python.exists() and _has_requirements(python):
        return python
    print(
        f"compare_aimet: setting up {REQUIREMENTS[0]} in {folder} (about 6 GB, since it depends on torch)",
        flush=True,
    )
    venv.create(folder, with_pip=True)
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *REQUIREMENTS,
    ]
    result = subprocess.run(install, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        reason = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise SystemExit(
            f"compare_aimet: {REQUIREMENTS[0]} could not be installed in {folder}: {reason}; "
            "check the network and the disk space, or name an environment that has it with --peer-venv"
        )
    return python


def _has_requirements(python: Path) -> bool:
    wanted = dict(requirement.split("==") for requirement in REQUIREMENTS)
    code = (
        "import importlib.metadata as m, sys\n"
        f"sys.exit(any(m.version(n) != v for n, v in {wanted!r}.items()))"
    )
    return (
        subprocess.run([str(python), "-c", code], capture_output=True, check=False).returncode == 0
    )
