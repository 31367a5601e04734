"""Checks every #include of src/ and include/ against the dependency arrows of the project.

    python tools/check_layers.py [--root DIR]

Prints one line per include that goes against an arrow and exits with 1 if there is one. Link visibility already keeps a
module from calling what it may not use; this also catches headers, which need no link. New folders and public headers
have to be entered in the tables below: an unknown one is an error.
"""

import argparse
import re
import sys
from pathlib import Path

# Module -> modules that it may use directly; use is transitive. The picture is in docs/architecture.md.
ARROWS: dict[str, list[str]] = {
    "base": [],
    "quant": ["base"],
    "graph": ["quant"],  # placement names the formats that a rules file asks for
    "calibrate": ["quant"],
    "simulate": ["graph", "calibrate"],
    "sweep": ["simulate"],
    "data": ["graph", "sweep"],
    "allocate": ["sweep"],
    "export": ["simulate"],  # what is written are the settings of live quantizers
    "report": ["sweep", "allocate"],
}

# Faces see the public headers and nothing else.
FACES = ["cli"]

# Public header -> the module that implements it.
PUBLIC = {
    "error.h": "base",
    "names.h": "base",
    "export.h": "base",
    "sequence.h": "base",
    "tensor.h": "base",
    "text.h": "base",
    "sample_source.h": "base",
    "options.h": "base",
    "model.h": "graph",
    "passes.h": "graph",
    "format.h": "quant",
    "encoding.h": "quant",
    "calibration.h": "calibrate",
    "quantizer.h": "calibrate",
    "simulation.h": "simulate",
    "metric.h": "sweep",
    "sweep.h": "sweep",
    "score_journal.h": "sweep",
    "layer_error.h": "sweep",
    "interactions.h": "sweep",
    "allocation.h": "allocate",
    "budget.h": "allocate",
    "mix.h": "allocate",
    "data.h": "data",
    "analysis.h": "report",
    "report.h": "report",
    "encodings_file.h": "export",
    "qdq_export.h": "export",
    "verify.h": "export",
}

# Libraries that only one module may see: pattern of the included path -> module.
OWNED = [
    (re.compile(r"^(google/protobuf/|onnx/|onnx[^/]*\.pb\.h$)"), "graph"),
    (re.compile(r"^(core/session/)?onnxruntime_"), "simulate"),
]

# Libraries that cost every includer seconds, so no header may include them; forward declarations are cheap.
ONLY_IN_SOURCES = re.compile(r"^(nlohmann/(?!json_fwd)|CLI/|fmt/|spdlog/)")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = {".h", ".cc", ".inc"}


def reachable(module: str) -> set[str]:
    """All modules that `module` may use, itself included."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            waiting.extend(ARROWS[current])
    return seen


def owner(path: Path, root: Path) -> str | None:
    """Module (or face) that a file belongs to; None when the tables do not know it."""
    parts = path.relative_to(root).parts
    if parts[0] == "include":
        return PUBLIC.get(parts[-1])
    return parts[1] if len(parts) > 2 and (parts[1] in ARROWS or parts[1] in FACES) else None


def target_module(included: str, path: Path, root: Path) -> str | None:
    """Module of an included project header, or None for headers from elsewhere."""
    if included.startswith("bitsweep/"):
        return PUBLIC.get(included.removeprefix("bitsweep/"), "")
    for folder in (root / "src", path.parent):
        candidate = folder / included
        if candidate.is_file():
            return owner(candidate.resolve(), root.resolve()) or ""
    return None


def check_include(included: str, path: Path, module: str, root: Path) -> str | None:
    """Sentence about a forbidden include, or None."""
    for pattern, only in OWNED:
        if pattern.search(included):
            return None if module == only else f"only src/{only} may see this library"
    if ONLY_IN_SOURCES.search(included):
        return "headers must not include it, only .cc files" if path.suffix == ".h" else None

    target = target_module(included, path, root)
    public_file = path.is_relative_to(root / "include")
    if target is None:
        outside = public_file and ("/" in included or "." in included)
        return "a public header may include the standard library only" if outside else None
    if target == "":
        return "its module is not known: enter it in the tables of tools/check_layers.py"
    public = included.startswith("bitsweep/")
    if module in FACES:
        allowed = public or target == module
        return (
            None
            if allowed
            else "a face may include public headers (bitsweep/...) and its own folder only"
        )
    if public_file and not public:
        return "a public header may include public headers only"
    if target not in reachable(module):
        uses = ", ".join(sorted(reachable(module) - {module})) or "nothing"
        return f"{module} must not depend on {target}; it may use: {uses}"
    return None


def check(root: Path) -> tuple[list[str], int]:
    """List of sentences, one per violation, and the number of includes looked at."""
    violations = []
    count = 0
    files = [f for folder in ("src", "include") for f in sorted((root / folder).rglob("*"))]
    for path in files:
        if path.suffix not in SUFFIXES or "node_modules" in path.parts:
            continue
        where = path.relative_to(root)
        module = owner(path, root)
        if module is None:
            violations.append(
                f"{where}: its module is not known: enter it in the tables of tools/check_layers.py"
            )
            continue
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            count += 1
            problem = check_include(match.group(2), path, module, root)
            if problem:
                line = text.count("\n", 0, match.start(2)) + 1
                violations.append(f"{where}:{line}: includes {match.group(2)}: {problem}")
    return violations, count


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Checks #include lines against the dependency arrows."
    )
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).resolve().parent.parent, help="project folder"
    )
    violations, count = check(parser.parse_args().root)
    for violation in violations:
        print(violation)
    print(f"layers: {count} includes, {len(violations)} against the arrows")
    if count == 0:
        print("layers: no source was found, so nothing was checked")
    return 1 if violations or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
