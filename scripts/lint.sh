#!/usr/bin/env bash
# All mechanical rules: clang-format, the dependency arrows, ruff, mypy and clang-tidy. Every tool runs, then the exit code
# tells whether one complained. Needs a configured build/release (clang-tidy reads its compile database).
set -uo pipefail
cd "$(dirname "$0")/.."

failed=()
run() {
  local name=$1
  shift
  if [[ " ${LINT_SKIP:-} " == *" $name "* ]]; then
    echo "lint: $name skipped"
    return
  fi
  if "$@"; then
    echo "lint: $name ok"
  else
    echo "lint: $name FAILED" >&2
    failed+=("$name")
  fi
}

cpp_files() { git ls-files '*.h' '*.cc' '*.inc'; }

run clang-format bash -c 'clang-format-19 --dry-run -Werror "$@"' - $(cpp_files)
run layers .venv/bin/python tools/check_layers.py
run "ruff check" .venv/bin/ruff check --quiet .
run "ruff format" .venv/bin/ruff format --quiet --check .
run mypy .venv/bin/mypy
run clang-tidy .venv/bin/python tools/run_clang_tidy.py build/release

if [ ${#failed[@]} -gt 0 ]; then
  echo "lint: failed: ${failed[*]}; 'make format' repairs the layout" >&2
  exit 1
fi
echo "lint: all ok"
