# The two commands a visitor needs are `make demo` and `make test`; `make help` lists the rest.
# Everything is installed first (scripts/setup.sh) and only once: the second run is quick.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Compiles in parallel; make's own -j would mix the output of the steps.
.NOTPARALLEL:

JOBS ?= $(shell nproc)
# Warnings are errors on demand: a visitor's newer compiler must not stop them.
WERROR ?= OFF

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export VIRTUAL_ENV := $(CURDIR)/.venv
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
# Objects of all builds, the wheel's too, are shared in one cache although their folders differ.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
# The command that the tests start: not one of another build that happens to be newer.
export BITSWEEP_CLI := $(CURDIR)/build/release/src/cli/bitsweep
# pip writes no notices between the test results.
export PIP_DISABLE_PIP_VERSION_CHECK := 1

PYTHON_BUILD_INPUTS := pyproject.toml CMakeLists.txt requirements-dev.txt \
	$(shell find src include cmake python/src python/CMakeLists.txt -type f -not -path '*/node_modules/*' -not -name '*_test.cc' 2>/dev/null)

.PHONY: help setup build build-tests python test test-cpp test-python demo lint stub format asan golden sdist clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

setup: ## install what is missing: Debian packages, headers, .venv
	@scripts/setup.sh

CONFIGURE := cmake --preset release -DBITSWEEP_WERROR=$(WERROR) --log-level=WARNING

build: setup ## build the library and the command
	@$(CONFIGURE)
	@cmake --build --preset release --target bitsweep bitsweep_cli

build-tests: setup ## build the C++ tests, too
	@$(CONFIGURE)
	@cmake --build --preset release

python: setup .venv/.bitsweep-installed ## install the Python package into .venv, editable

# An editable install: changes of .py files show at once, only changes of C++ come back here. The compiler goes by the
# name that CMake gives it by default; by another name the cache would not know its own objects.
.venv/.bitsweep-installed: $(PYTHON_BUILD_INPUTS) | setup
	@echo "building the Python package"
	@CC="$${CC:-cc}" CXX="$${CXX:-c++}" pip install --quiet --no-build-isolation --no-deps --editable . --config-settings=cmake.define.BITSWEEP_WERROR=$(WERROR)
	@touch $@

# Passed tests take a line each that nobody reads; failures and the closing lines stay.
CTEST_LINES := sed -E '/^ *(Start +[0-9]+:|[0-9]+\/[0-9]+ Test .* Passed )/d'

test-cpp: build-tests ## the C++ tests
	@ctest --preset release -j $(JOBS) | $(CTEST_LINES)

test-python: build python ## the Python tests
	@python -m pytest -q

test: test-cpp test-python ## all tests, C++ and Python

demo: build python ## sweep a real model: ranked table, demo/results.json and demo/report.html
	@scripts/demo.sh

lint: build-tests ## formatting, clang-tidy, ruff, mypy, layers
	@LINT_SKIP="$(LINT_SKIP)" scripts/lint.sh

stub: python ## take over the type stub of _core that the build wrote
	@cp build/python/python/bitsweep/_core.pyi python/bitsweep/_core.pyi

format: setup ## format C++ and Python in place
	@git ls-files '*.h' '*.cc' | xargs -r clang-format-19 -i
	@ruff format --quiet . && ruff check --quiet --fix .

asan: setup ## C++ tests under the address and undefined-behaviour sanitizers
	@cmake --preset asan -DBITSWEEP_WERROR=$(WERROR) --log-level=WARNING
	@cmake --build --preset asan
	@ctest --preset asan -j $(JOBS) | $(CTEST_LINES)

# Numbers measured with the reference; they live outside the repository.
GOLDEN ?= ../shared/golden
GOLDEN_CHECK = python $(GOLDEN)/check.py --allow docs/differences.json
golden: python ## compare with the reference's numbers (GOLDEN=folder)
	@$(GOLDEN_CHECK) --kind a,b,cd,e,f,g,h,i

sdist: setup ## the source package for users, in dist/
	@$(CONFIGURE)
	@cmake --build --preset release --target bitsweep_report_dist
	@python -c 'from scikit_build_core.build import build_sdist; print("dist/" + build_sdist("dist"))'

clean: ## remove builds and results; .venv and headers stay
	@rm -rf build demo dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
