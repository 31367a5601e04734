"""Neither threads, nor repetitions, nor a limit of memory change what a sweep says, on every network and in every mode."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from networks import BUILDERS, Case

from bitsweep import _core

MODES = ("enable_one", "disable_one", "cumulative")


@pytest.fixture(scope="module", params=sorted(BUILDERS))
def case(request) -> Case:
    return Case.of(BUILDERS[request.param]())


def bits(result):
    """Everything that the samples decide, to the last bit."""
    return [
        (s.name, s.rank, s.score, list(s.per_sample), list(s.per_output), s.tied_with_next)
        for scores in (result, *result.more)
        for s in scores.scores
    ]


@pytest.mark.parametrize("mode", MODES)
def test_threads_and_repetitions_give_the_same_bytes(case, mode):
    groups = case.groups("quantizer")
    results = [case.sweep(groups, mode=mode, num_threads=n) for n in (1, 3, 1, 2)]
    assert len({_core.sweep_to_json(r, []) for r in results}) == 1
    assert all(bits(r) == bits(results[0]) for r in results)


def test_little_memory_gives_the_same_scores_up_to_float_noise(case):
    """Fewer cuts fit, so that sums may run in another order: the one thing that may show."""
    groups = case.groups("quantizer")
    wide, narrow = case.sweep(groups), case.sweep(groups, max_memory_bytes=1)
    case.assert_equal_up_to_float_noise(narrow, wide)
