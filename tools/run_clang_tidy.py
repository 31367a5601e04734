"""Runs clang-tidy on the project's sources, and only on those that changed since they were last found clean.

    python tools/run_clang_tidy.py BUILD_DIR [--all] [--jobs N]

BUILD_DIR holds compile_commands.json and was built: the list of headers that each object was made from is asked from
ninja. A file counts as unchanged when its text, all headers it sees (the system's too), its compile command, the checks
and the tool's version are the same as when it passed; the record is kept in the user's cache folder, so a fresh clone
profits too. Tests are left out: googletest's macros cost most of the time and hide most of the findings.
"""

import argparse
import functools
import hashlib
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = "clang-tidy-19"
# The compile database and the standard library are GCC's: clang does not know all warnings of the one, and the other uses
# what it calls deprecated itself (std::stable_sort). Compiler warnings are the build's business, not an error here.
FOR_GCC = [
    "--extra-arg=-Wno-unknown-warning-option",
    "--extra-arg=-Wno-deprecated-declarations",
    "--extra-arg=-Wno-error",
]


@dataclass(frozen=True)
class Source:
    path: Path
    command: str
    output: str  # the object's name, as ninja calls it


def cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "bitsweep" / "clang-tidy"


def sources(build_dir: Path) -> list[Source]:
    """Every source of ours, without generated files and tests."""
    database = build_dir / "compile_commands.json"
    if not database.is_file():
        sys.exit(f"clang-tidy: no {database}; run 'make build-tests' first")
    found: dict[Path, Source] = {}
    for entry in json.loads(database.read_text()):
        path = Path(entry["directory"], entry["file"]).resolve()
        inside = path.is_relative_to(ROOT) and not path.is_relative_to(build_dir.resolve())
        is_test = path.name.endswith("_test.cc") or "testing" in path.parts
        if inside and not is_test:
            command = shlex.split(entry["command"])
            output = command[command.index("-o") + 1]
            found.setdefault(path, Source(path, entry["command"], output))
    return [found[path] for path in sorted(found)]


def headers(build_dir: Path) -> dict[str, list[Path]]:
    """Files that each object was made from, where the object is up to date with ninja's own books."""
    done = subprocess.run(
        ["ninja", "-C", str(build_dir), "--quiet", "-t", "deps"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(
            f"clang-tidy: {build_dir} has no list of headers; run 'make build-tests' first\n{done.stderr}"
        )
    found: dict[str, list[Path]] = {}
    files: list[Path] = []
    for line in done.stdout.splitlines():
        if line.startswith("    "):
            files.append(build_dir / line.strip())
        elif line:
            files = []
            if line.endswith("(VALID)"):
                found[line.split(": #deps", 1)[0]] = files
    return found


@functools.cache
def content_hash(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()


def portable(text: str) -> str:
    """`text` without the place where the clone lies and without what changes no finding."""
    return text.replace(str(ROOT), "").replace(" -Werror", "")


def fingerprint(source: Source, files: list[Path] | None, version: bytes) -> str | None:
    """Hash of all that decides the outcome; None when the headers are not known or one is gone."""
    if not files or not all(file.is_file() for file in files):
        return None
    digest = hashlib.sha256()
    digest.update(version + (ROOT / ".clang-tidy").read_bytes() + " ".join(FOR_GCC).encode())
    digest.update(" ".join(portable(source.command).split()).encode())
    for file in [source.path, *files]:
        digest.update(portable(os.path.normpath(file)).encode() + b"\0" + content_hash(file))
    return digest.hexdigest()


def tidy(path: Path, build_dir: Path) -> tuple[int, str]:
    done = subprocess.run(
        [TOOL, "--quiet", *FOR_GCC, "-p", str(build_dir), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    # On success stderr only counts the warnings that system headers would give.
    return done.returncode, done.stdout + (done.stderr if done.returncode else "")


def main() -> int:
    parser = argparse.ArgumentParser(description="clang-tidy on what changed.")
    parser.add_argument("build_dir", type=Path)
    parser.add_argument("--all", action="store_true", help="look at unchanged files too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()

    version = subprocess.run([TOOL, "--version"], capture_output=True, check=True).stdout
    records = cache_dir()
    records.mkdir(parents=True, exist_ok=True)
    known_headers = headers(options.build_dir.resolve())
    todo: list[tuple[Path, Path | None]] = []
    files = sources(options.build_dir)
    for source in files:
        key = fingerprint(source, known_headers.get(source.output), version)
        record = records / key if key else None
        if options.all or record is None or not record.exists():
            todo.append((source.path, record))

    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda job: tidy(job[0], options.build_dir), todo)
        for (path, record), (code, output) in zip(todo, results, strict=True):
            if code == 0:
                if record is not None:
                    record.touch()
            else:
                failed += 1
                print(f"clang-tidy: {path.relative_to(ROOT)}\n{output}")
    print(f"clang-tidy: {len(files)} files, {len(todo)} looked at, {failed} with findings")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
