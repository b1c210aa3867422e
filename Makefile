# vbench: `make demo` and `make test` are all a newcomer needs; both install first.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed
PIP := $(BIN)/python -m pip --disable-pip-version-check install --progress-bar off -c constraints.txt
DEMO := outputs/demo

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow check bench

help: ## Show this list
	@echo "vbench: make <target>, PYTHON=python3.12 picks the interpreter"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

setup: $(STAMP) ## Make .venv with everything (torch is 5 GB; minutes the first time)

# Runs again only when the versions or the extras have changed; an existing .venv is kept.
$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || \
		{ echo "no venv: install Python 3.11+ with its venv module (Debian: apt install python3-venv)"; exit 1; }
	$(PIP) torch torchvision
	$(PIP) -e '.[open-clip,hub,api,vlm,dev]'
	@touch $@

demo: $(STAMP) ## Decode real videos, run a CLIP on them, print VELOCITI's tables (offline, < 2 minutes)
	$(BIN)/vbench build dataset=velociti/toy num_videos=60 seed=1 dataset.root=$(DEMO)/data
	WANDB_MODE=offline $(BIN)/vbench evaluate dataset=velociti/toy dataset.root=$(DEMO)/data \
		model=toy/clip sampler=velociti20 trainer=cpu logger=wandb run_dir=$(DEMO)/run

test: $(STAMP) ## Run the tests (< 5 minutes on 2 cores)
	$(BIN)/pytest -n logical --maxprocesses 4 $(ARGS)

test-slow: $(STAMP) ## Run the tests that take minutes each
	$(BIN)/pytest -m slow $(ARGS)

check: $(STAMP) ## Lint, formatting, types, import floors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(STAMP) ## Run every scripts/bench_*.py; each ends in one line of JSON
	@set -e; for script in scripts/bench_*.py; do echo "== $$script"; $(BIN)/python $$script; done
