"""Results in a notebook, and progress of a mix."""

import json

import pytest

import bitsweep
from bitsweep._display import _table
from bitsweep.progress import TextProgress


@pytest.fixture
def sim(cnn):
    sim = bitsweep.QuantizationSimModel(cnn.model)
    sim.compute_encodings(cnn.feeds)
    return sim


def test_a_sweep_shows_its_worst_groups(sim, cnn):
    result = bitsweep.sweep(sim, cnn.feeds)
    worst = result.scores[0]
    assert repr(result).startswith(f"<SweepResult: sqnr of {len(result.scores)} groups")
    assert f'"{worst.name}" at {worst.score:.2f} dB' in repr(result)
    html = result._repr_html_()
    assert html.count("<tr>") == 1 + min(10, len(result.scores))
    assert f"<td>{worst.name}</td>" in html


def test_a_sweep_is_saved_as_page_and_json(sim, cnn, tmp_path):
    result = bitsweep.sweep(sim, cnn.feeds, group="op")
    bitsweep.save_sweep_plot(sim, result, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    worst = result.scores[0]
    assert f"Most sensitive: {worst.name} at {worst.score:.2f} dB" in page
    assert '"details_label":"Operator"' in page
    bitsweep.save_sweep_results(result, tmp_path / "results.json")
    ranking = json.loads((tmp_path / "results.json").read_text())["ranking"]
    assert [(row["name"], row["score"]) for row in ranking] == [
        (score.name, score.score) for score in result.scores
    ]
    assert [group.name for group in result.groups] != [row["name"] for row in ranking]
    with pytest.raises(bitsweep.Error, match="missing"):
        bitsweep.save_sweep_plot(sim, result, tmp_path / "missing" / "report.html")


def test_a_mix_shows_its_choice_and_tells_how_far_it_is(sim, cnn):
    seen = []
    result = bitsweep.mix(
        sim, cnn.feeds, ["W8A8", "W8A16"], "bops<=0.8", frontier_points=3, progress=seen.append
    )
    assert f"{result.chosen.measured_db:.2f} dB at bops" in repr(result)
    assert result._repr_html_().count("<tr>") == 1 + len(result.frontier)
    stages = list(dict.fromkeys(step.stage for step in seen))
    assert stages[:2] == ["calibrate", "measure groups"]
    assert all(step.elapsed_s >= 0 for step in seen)
    assert TextProgress().text(seen[0]).startswith("calibrate [")


def test_the_progress_line_of_a_mix_ends_with_it(sim, cnn, capsys):
    bitsweep.mix(sim, cnn.feeds, ["W8A8", "W8A16"], frontier_points=2, progress=True)
    shown = capsys.readouterr().err
    assert "measure mixes" in shown
    assert shown.endswith("\n")


def test_an_impossible_mix_shows_why(sim, cnn):
    result = bitsweep.mix(sim, cnn.feeds, ["W8A8"], "bytes<=1", frontier_points=0)
    assert "minimum of bytes" in repr(result)
    assert "minimum of bytes" in result._repr_html_()


def test_parts_of_results_show_what_they_hold(sim, cnn):
    swept = bitsweep.sweep(sim, cnn.feeds, until="stable")
    interval = swept.scores[0].interval
    assert repr(interval) == f"<ScoreInterval: {interval.low:.4g} to {interval.high:.4g}>"
    assert repr(swept.stability).startswith(f"<Stability: {len(swept.stability.selected)} groups")
    result = bitsweep.mix(
        sim, cnn.feeds, ["W8A8"], "bops<=1", test=cnn.feeds, check="cosine", frontier_points=0
    )
    assert repr(result.chosen).startswith("<MixPoint: W8A8 x ")
    assert repr(result.checks[0]).startswith("<MixCheck: cosine ")
    first = result.groups[0]
    assert (first.activations + first.parameters)[0] in repr(first)


def test_names_are_escaped():
    assert "<td>a&lt;b&gt;</td>" in _table("t", ("name",), [("a<b>",)])
