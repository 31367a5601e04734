"""The layer check has to fail when an include goes against an arrow, or it proves nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(root):
    command = [sys.executable, str(ROOT / "tools" / "check_layers.py"), "--root", str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def write(root, path, *includes):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"#include {name}\n" for name in includes))


@pytest.fixture
def tree(tmp_path):
    """A small project without violations."""
    write(tmp_path, "include/bitsweep/tensor.h", "<vector>")
    write(tmp_path, "include/bitsweep/model.h", '"bitsweep/tensor.h"')
    write(tmp_path, "include/bitsweep/sweep.h", '"bitsweep/model.h"')
    write(tmp_path, "src/base/half.h", "<cstdint>")
    write(tmp_path, "src/graph/graph.h", '"base/half.h"')
    write(tmp_path, "src/graph/model.cc", '"graph.h"', "<onnx-ml.pb.h>", "<fmt/format.h>")
    write(tmp_path, "src/graph/names.h", "<nlohmann/json_fwd.hpp>")
    write(tmp_path, "src/simulate/session.cc", '"graph/graph.h"', "<onnxruntime_cxx_api.h>")
    write(tmp_path, "src/cli/main.cc", '"bitsweep/sweep.h"', "<CLI/CLI.hpp>", '"words.h"')
    write(tmp_path, "src/cli/words.h", "<string>")
    return tmp_path


def test_this_repository_has_no_violation():
    code, output = run(ROOT)
    assert code == 0, output


def test_accepts_includes_along_the_arrows(tree):
    code, output = run(tree)
    assert code == 0, output
    assert "0 against the arrows" in output


@pytest.mark.parametrize(
    ("path", "include", "reason"),
    [
        ("src/base/bad.cc", '"graph/graph.h"', "base must not depend on graph"),
        ("src/graph/bad.cc", '"bitsweep/sweep.h"', "graph must not depend on sweep"),
        ("src/simulate/bad.cc", "<onnx-ml.pb.h>", "only src/graph may see this library"),
        ("src/simulate/bad.cc", "<google/protobuf/message_lite.h>", "only src/graph"),
        ("src/graph/bad.cc", "<onnxruntime_c_api.h>", "only src/simulate"),
        ("src/cli/bad.cc", '"graph/graph.h"', "a face may include public headers"),
        ("src/graph/bad.h", "<nlohmann/json.hpp>", "headers must not include it"),
        ("include/bitsweep/model.h", '"base/half.h"', "public headers only"),
        ("include/bitsweep/model.h", "<sqlite3.h>", "standard library only"),
        ("include/bitsweep/model.h", "<nlohmann/json_fwd.hpp>", "standard library only"),
        ("include/bitsweep/tensor.h", '"bitsweep/sweep.h"', "base must not depend on sweep"),
        ("src/base/bad.cc", '"bitsweep/new.h"', "enter it in the tables"),
        ("src/newcomer/bad.cc", "<vector>", "enter it in the tables"),
    ],
)
def test_reports_an_include_against_the_arrows(tree, path, include, reason):
    write(tree, path, include)
    code, output = run(tree)
    assert code == 1
    assert path in output
    assert reason in output


def test_fails_when_it_finds_no_sources(tmp_path):
    code, output = run(tmp_path)
    assert code == 1
    assert "nothing was checked" in output
