"""What a sweep keeps between its states changes its cost and not one bit of its answers.

The same plan is run twice: as users get it, and with every state on every sample making its float pass, boundary,
reference and sessions anew. Threads and repetitions must not show either. On every network, in every mode.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cases import BUILDERS, Case

from bitsweep import _core

GROUPS = ("quantizer", "op", "function")
MODES = ("enable_one", "disable_one", "cumulative")
# Nothing kept means several sessions for each state and sample.
MOST_GROUPS = 6


@pytest.fixture(scope="module", params=sorted(BUILDERS))
def case(request) -> Case:
    return Case.of(BUILDERS[request.param]())


def some(groups):
    """A few of them, from all over the network."""
    return groups[:: -(-len(groups) // MOST_GROUPS)]


def bits(result):
    """Everything that the samples decide, to the last bit."""
    return [
        (s.name, s.rank, s.score, list(s.per_sample), list(s.per_output), s.tied_with_next)
        for scores in (result, *result.more)
        for s in scores.scores
    ]


@pytest.mark.parametrize("mode", MODES)
def test_every_cache_off_gives_the_same_bits(case, mode):
    groups = some(case.groups("quantizer"))
    kept = case.sweep(groups, mode=mode)
    anew = case.sweep(groups, mode=mode, caches=False)
    assert bits(anew) == bits(kept)
    assert anew.num_runs > kept.num_runs, "the caches were not off"


@pytest.mark.parametrize("group", GROUPS[1:])
def test_so_do_operators_and_groups_of_a_function(case, group):
    groups = some(case.groups(group))
    assert bits(case.sweep(groups, caches=False)) == bits(case.sweep(groups))


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


def test_a_run_directory_and_no_caches_contradict(case, tmp_path):
    with pytest.raises(ValueError, match="a run directory is a cache"):
        case.sweep(case.groups("quantizer"), caches=False, run_directory=tmp_path)
