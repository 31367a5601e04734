"""ONNX's own node tests through the simulation: nothing crashes, and all off is plain ONNX Runtime."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import node_cases

pytestmark = pytest.mark.filterwarnings("ignore")


def test_the_simulation_refuses_a_node_test_only_when_the_runtime_does():
    results = list(node_cases.outcomes())
    assert len(results) > 1500
    wrong = [f"{r.name}: {r.sentence}" for r in results if r.status not in ("passed", "refused")]
    assert wrong == []
    assert sum(r.status == "passed" for r in results) > 1350
