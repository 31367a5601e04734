"""clang-tidy is skipped for what did not change, and only for that."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NINJA = shutil.which("ninja")
pytestmark = pytest.mark.skipif(
    NINJA is None or shutil.which("c++") is None, reason="needs a build"
)

# Finds fault with every file that says BAD, and notes what it was asked to read.
FAKE_TOOL = """#!/bin/sh
if [ "$1" = --version ]; then cat "$TIDY_VERSION"; exit 0; fi
for file in "$@"; do :; done
basename "$file" >> "$TIDY_LOG"
! grep -q BAD "$file"
"""
NINJA_FILE = """rule cc
  command = c++ -MD -MF $out.d -I../src {flags} -o $out -c $in
  deps = gcc
  depfile = $out.d
build {name}.o: cc ../src/{name}.cc
"""


class Clone:
    """A project of one source and one header, at `root`; `place` holds the tool, its records and its log."""

    def __init__(self, root, place):
        self.root, self.place = root, place
        for folder in ("tools", "src", "build"):
            (root / folder).mkdir(parents=True)
        shutil.copy(ROOT / "tools" / "run_clang_tidy.py", root / "tools")
        (root / ".clang-tidy").write_text("Checks: bugprone-*\n")
        self.header = root / "src" / "a.h"
        self.source = root / "src" / "a.cc"
        self.header.write_text("inline int one() { return 1; }\n")
        self.source.write_text('#include "a.h"\nint two() { return 2 * one(); }\n')
        self.flags = ""

    def looked_at(self):
        """Builds, runs the script and gives (exit code, files that the tool read)."""
        build = self.root / "build"
        (build / "build.ninja").write_text(NINJA_FILE.format(name="a", flags=self.flags))
        command = f"c++ -I{self.root}/src {self.flags} -o a.o -c {self.source}"
        entry = {"directory": str(build), "file": str(self.source), "command": command}
        (build / "compile_commands.json").write_text(json.dumps([entry]))
        subprocess.run([NINJA, "-C", build, "--quiet"], check=True)
        log = self.place / "log"
        log.write_text("")
        environment = os.environ | {
            "PATH": f"{self.place}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(self.place / "cache"),
            "TIDY_LOG": str(log),
            "TIDY_VERSION": str(self.place / "version"),
        }
        script = [sys.executable, self.root / "tools" / "run_clang_tidy.py", build]
        done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, log.read_text().split()


@pytest.fixture
def place(tmp_path):
    tool = tmp_path / "clang-tidy-19"
    tool.write_text(FAKE_TOOL)
    tool.chmod(0o755)
    (tmp_path / "version").write_text("version 1\n")
    return tmp_path


@pytest.fixture
def clone(tmp_path, place):
    return Clone(tmp_path / "here", place)


def test_a_clean_file_is_read_once(clone):
    assert clone.looked_at() == (0, ["a.cc"])
    assert clone.looked_at() == (0, [])


def test_a_clone_elsewhere_uses_the_records(clone, tmp_path, place):
    clone.looked_at()
    assert Clone(tmp_path / "there" / "deep", place).looked_at() == (0, [])


def test_findings_are_not_recorded(clone):
    clone.source.write_text("int BAD = 0;\n")
    assert clone.looked_at() == (1, ["a.cc"])
    assert clone.looked_at() == (1, ["a.cc"])


def test_whatever_decides_the_outcome_brings_the_file_back(clone, place):
    clone.looked_at()
    clone.source.write_text(clone.source.read_text() + "int three() { return 3; }\n")
    assert clone.looked_at() == (0, ["a.cc"])
    clone.header.write_text("inline int one() { return 2 - 1; }\n")
    assert clone.looked_at() == (0, ["a.cc"])
    clone.flags = "-DNDEBUG"
    assert clone.looked_at() == (0, ["a.cc"])
    (clone.root / ".clang-tidy").write_text("Checks: performance-*\n")
    assert clone.looked_at() == (0, ["a.cc"])
    (place / "version").write_text("version 2\n")
    assert clone.looked_at() == (0, ["a.cc"])
    assert clone.looked_at() == (0, [])


def test_warnings_as_errors_change_nothing(clone):
    clone.looked_at()
    clone.flags = "-Werror"
    assert clone.looked_at() == (0, [])
