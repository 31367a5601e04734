"""Runs clang-tidy on the project's sources, and only on those that changed since they were last found clean.

    python tools/run_clang_tidy.py BUILD_DIR [--all] [--jobs N]

BUILD_DIR holds compile_commands.json. A file counts as unchanged when its text, its compile command, the checks and
all project headers it includes are the same as when it passed; the record is kept in the user's cache folder, so a
fresh clone profits too. Tests are left out: googletest's macros cost most of the time and hide most of the findings.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = "clang-tidy-19"
# The compile database and the standard library are GCC's: clang does not know all warnings of the one, and the other uses
# what it calls deprecated itself (std::stable_sort).
FOR_GCC = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-deprecated-declarations"]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "bitsweep" / "clang-tidy"


def sources(build_dir: Path) -> list[tuple[Path, str]]:
    """(file, compile command) of every source of ours, without generated files and tests."""
    database = build_dir / "compile_commands.json"
    if not database.is_file():
        sys.exit(f"clang-tidy: no {database}; run 'make build' first")
    found: dict[Path, str] = {}
    for entry in json.loads(database.read_text()):
        path = Path(entry["directory"], entry["file"]).resolve()
        inside = path.is_relative_to(ROOT) and not path.is_relative_to(build_dir.resolve())
        is_test = path.name.endswith("_test.cc") or "testing" in path.parts
        if inside and not is_test:
            found.setdefault(path, entry["command"])
    return sorted(found.items())


def project_includes(path: Path, seen: dict[Path, bytes]) -> None:
    """Adds `path` and the project's files it includes, directly or not, to `seen`."""
    if path in seen:
        return
    seen[path] = path.read_bytes()
    for name in INCLUDE.findall(seen[path].decode()):
        for folder in (ROOT / "include", ROOT / "src", path.parent):
            header = folder / name
            if header.is_file():
                project_includes(header.resolve(), seen)
                break


def fingerprint(path: Path, command: str, version: bytes) -> str:
    """Hash of all that decides the outcome, free of the place where the clone lies."""
    seen: dict[Path, bytes] = {}
    project_includes(path, seen)
    digest = hashlib.sha256()
    digest.update(version + (ROOT / ".clang-tidy").read_bytes())
    digest.update(command.replace(str(ROOT), "").encode())
    for file in sorted(seen):
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + seen[file] + b"\0")
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
    todo = []
    files = sources(options.build_dir)
    for path, command in files:
        record = records / fingerprint(path, command, version)
        if options.all or not record.exists():
            todo.append((path, record))

    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda job: tidy(job[0], options.build_dir), todo)
        for (path, record), (code, output) in zip(todo, results, strict=True):
            if code == 0:
                record.touch()
            else:
                failed += 1
                print(f"clang-tidy: {path.relative_to(ROOT)}\n{output}")
    print(f"clang-tidy: {len(files)} files, {len(todo)} looked at, {failed} with findings")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
