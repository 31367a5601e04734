"""Starts the native command that is installed with the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bitsweep import _core, _ort

__all__ = ["main"]


def main() -> int:
    """Replaces this process by the command, with the arguments of this one."""
    # Beside the native module: in an editable install that is not where the sources are.
    command = (
        Path(_core.__file__).parent / "bin" / ("bitsweep.exe" if os.name == "nt" else "bitsweep")
    )
    if not command.exists():
        print(
            f"bitsweep: {command} is missing; install the package with its command (pip install bitsweep)",
            file=sys.stderr,
        )
        return 1
    library = _ort.library_path()
    if library:
        os.environ.setdefault("BITSWEEP_ORT_LIB", library)
    sys.stdout.flush()
    os.execv(command, [str(command), *sys.argv[1:]])
