# vbench: `make demo` and `make test` are all a newcomer needs; both install first.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed
PIP := $(BIN)/python -m pip --disable-pip-version-check install --progress-bar off -c constraints.txt
DEMO := outputs/demo
LABEL_STUDIO := .venv-label-studio/bin/label-studio
RAY := .venv-ray/bin/ray

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
	$(PIP) -e '.[open-clip,hub,api,vlm,text-similarity,launchers,dev]'
	@touch $@

demo: $(STAMP) ## Decode real videos, ask a CLIP and a video-language model, print VELOCITI's tables (< 2 minutes)
	$(BIN)/vbench build dataset=velociti/toy num_videos=60 seed=1 dataset.root=$(DEMO)/data
	WANDB_MODE=offline $(BIN)/vbench evaluate dataset=velociti/toy dataset.root=$(DEMO)/data \
		model=toy/clip sampler=velociti20 trainer=cpu logger=wandb run_dir=$(DEMO)/run
	$(BIN)/vbench evaluate dataset=velociti/toy dataset.root=$(DEMO)/data limit=20 \
		model=toy/vlm sampler=velociti20 trainer=cpu logger=none run_dir=$(DEMO)/run_vlm

test: $(STAMP) ## Run the tests (< 5 minutes on 2 cores)
	$(BIN)/pytest -n logical --maxprocesses 4 $(ARGS)

test-slow: $(STAMP) ## Run the tests that take minutes each
	@$(MAKE) --no-print-directory $(LABEL_STUDIO) || \
		echo "no Label Studio: its test will be skipped"
	VBENCH_LABEL_STUDIO=$(LABEL_STUDIO) $(BIN)/pytest -m slow $(ARGS)
	@$(MAKE) --no-print-directory $(RAY) || echo "no Ray: its test was skipped"
	@test ! -x $(RAY) || .venv-ray/bin/python -m pytest -m slow tests/test_sweep.py -k ray

# The annotation server of the slow suite: it pins so much that it gets an environment of its own.
$(LABEL_STUDIO):
	$(PYTHON) -m venv .venv-label-studio
	.venv-label-studio/bin/python -m pip --disable-pip-version-check install -q --progress-bar off label-studio==1.23.2

# Ray's launcher pins an old cloudpickle: it gets one of its own, over the packages of .venv.
$(RAY):
	$(PYTHON) -m venv .venv-ray
	$(BIN)/python -c "import site; print('import site; site.addsitedir(%r)' % site.getsitepackages()[0])" \
		> "$$(.venv-ray/bin/python -c 'import site; print(site.getsitepackages()[0])')/over.pth"
	.venv-ray/bin/python -m pip --disable-pip-version-check install -q --progress-bar off \
		hydra-ray-launcher==1.2.2 ray==2.60.0

check: $(STAMP) ## Lint, formatting, types, import floors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(STAMP) ## Run every scripts/bench_*.py; each ends in one line of JSON
	@set -e; for script in scripts/bench_*.py; do echo "== $$script"; $(BIN)/python $$script; done
