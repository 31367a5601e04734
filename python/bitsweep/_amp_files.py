"""Files of a mixed-precision search: what is known already, and what the user reads afterwards."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bitsweep import _core
from bitsweep.errors import IoError, error

__all__ = ["ResultsFolder", "listed_group"]

_SECONDS_BETWEEN_WRITES = 2.0


def listed_group(group: _core.QuantizerGroup) -> list[list[str]]:
    """``[["activation", name], ..., ["weight", name], ...]``."""
    kinds = (("activation", group.activations), ("weight", group.parameters))
    return [[kind, name] for kind, names in kinds for name in names]


class ResultsFolder:
    """The folder of one search. Lists in ``.cache`` belong to the identity kept beside them.

    Parameters
    ----------
    path : path
        Made when missing.
    texts : list of (Candidate, str)
        Text of each candidate in the files.
    clean : bool
        Forgets what an earlier search left.
    """

    def __init__(
        self, path: Any, texts: Sequence[tuple[_core.Candidate, str]], *, clean: bool
    ) -> None:
        self._root = Path(path)
        self._cache = self._root / ".cache"
        self._texts = list(texts)
        self._pending: dict[str, list[Any]] = {}
        self._last_write = 0.0
        # Before hours of work, not behind them.
        try:
            self._cache.mkdir(parents=True, exist_ok=True)
            for folder in (self._root, self._cache):
                with tempfile.TemporaryFile(dir=folder):
                    pass
            if clean:
                self._forget()
        except OSError as e:
            raise error(
                IoError,
                "choose_mixed_precision",
                f'results_dir "{self._root}" cannot be written: {e.strerror or e}',
                "name a folder that can",
            ) from None

    def _forget(self) -> None:
        for name in ("identity.json", "accuracy_list.json", "pareto_list.json"):
            (self._cache / name).unlink(missing_ok=True)

    def text(self, candidate: _core.Candidate) -> str:
        """The candidate as it stands in the files."""
        for known, text in self._texts:
            if known == candidate:
                return text
        return repr(candidate)

    def recall(
        self, identity: str, groups: Sequence[_core.QuantizerGroup]
    ) -> tuple[list[_core.GreedyEntry], list[_core.GreedyPoint]]:
        """What an earlier search of this identity measured; lists of another one are deleted."""
        digest = hashlib.sha256(identity.encode()).hexdigest()
        try:
            if self._read("identity.json") == {"identity": digest}:
                return self._known(groups)
        except (ValueError, KeyError, TypeError) as e:
            warnings.warn(
                f'mixed precision: the cache in "{self._cache}" is damaged ({e}) and was left aside; '
                "everything is measured anew",
                stacklevel=2,
            )
        self._forget()
        self._write(self._cache / "identity.json", {"identity": digest})
        return [], []

    def _known(
        self, groups: Sequence[_core.QuantizerGroup]
    ) -> tuple[list[_core.GreedyEntry], list[_core.GreedyPoint]]:
        index = {json.dumps(listed_group(g)): i for i, g in enumerate(groups)}
        candidates = {text: c for c, text in self._texts}
        entries = []
        positions = {}
        for i, (group, text, score, reduction) in enumerate(self._read("accuracy_list.json") or ()):
            key = index[json.dumps(group)], candidates[text]
            entries.append(_core.GreedyEntry(*key, score, reduction))
            positions[json.dumps(group), text] = i
        points = []
        for bit_ops, score, group, text in self._read("pareto_list.json") or ():
            place = json.dumps(group), text
            points.append(
                _core.GreedyPoint(
                    positions[place], index[place[0]], candidates[text], bit_ops, score
                )
            )
        return entries, points

    def keep_entries(
        self, entries: Iterable[_core.GreedyEntry], groups: Sequence[_core.QuantizerGroup]
    ) -> None:
        """Remembers the sensitivity list; written every few seconds and by :meth:`flush`."""
        self._pending["accuracy_list.json"] = [
            [listed_group(groups[e.group]), self.text(e.candidate), e.score, e.reduction]
            for e in entries
        ]
        self._write_now_and_then()

    def keep_points(
        self, points: Iterable[_core.GreedyPoint], groups: Sequence[_core.QuantizerGroup]
    ) -> None:
        """Remembers the measured points."""
        self._pending["pareto_list.json"] = [
            [p.relative_bit_ops, p.score, listed_group(groups[p.group]), self.text(p.candidate)]
            for p in points
        ]
        self._write_now_and_then()

    def _write_now_and_then(self) -> None:
        if time.monotonic() - self._last_write >= _SECONDS_BETWEEN_WRITES:
            self.flush()

    def flush(self) -> None:
        """Writes what is not on disk yet."""
        for name, content in self._pending.items():
            self._write(self._cache / name, content)
            if name == "pareto_list.json":
                self._write(self._root / name, content)
        self._pending.clear()
        self._last_write = time.monotonic()

    def write_info(self, result: _core.GreedyResult) -> None:
        """``amp_info_list.json``: scores, times in minutes, and how many quantizers were changed."""
        acts, params = result.num_activations, result.num_parameters
        flipped_acts, flipped_params = (
            result.num_flipped_activations,
            result.num_flipped_parameters,
        )

        def percent(part: int, whole: int) -> float:
            return 100.0 * part / whole if whole else 0.0

        self._write(
            self._root / "amp_info_list.json",
            [
                # The first key is spelt as scripts of the peer read it.
                ["fp32 accuray", result.float_score],
                ["Phase1 Time", result.phase1_s / 60.0],
                ["Phase2 Time", result.phase2_s / 60.0],
                ["final score", result.final_score],
                ["phase2 eval count", result.num_searched_points],
                ["percentage_act_quantizers_flipped", percent(flipped_acts, acts)],
                ["percentage_param_quantizers_flipped", percent(flipped_params, params)],
                [
                    "percentage_quantizers_flipped",
                    percent(flipped_acts + flipped_params, acts + params),
                ],
                ["count_act_quantizers_flipped", flipped_acts],
                ["count_param_quantizers_flipped", flipped_params],
                ["total_act_quantizers", acts],
                ["total_param_quantizers", params],
                ["total_quantizers", acts + params],
            ],
        )

    def _read(self, name: str) -> Any:
        path = self._cache / name
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    @staticmethod
    def _write(path: Path, content: Any) -> None:
        _core.write_text_file(path, json.dumps(content, indent=1))
