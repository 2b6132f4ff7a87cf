# Everything works in a fresh checkout: each goal first sets up what it lacks in .venv, and skips what is done.

PYTHON ?= python3
ARGS   ?=
SETUP  := $(PYTHON) -m installers.bootstrap
BIN    := .venv/bin
PYTEST := $(BIN)/python -m pytest --numprocesses=logical --maxprocesses=4 --dist=worksteal

.DEFAULT_GOAL := help
.PHONY: help run desktop test lint check bundle bench-start bench-cpu bench-ui soak screenshots clean python

help:            ## list these goals
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: python      ## set up, then start the server on 127.0.0.1:8420 (ARGS="--port 9000")
	@$(SETUP) run
	@$(BIN)/python -m inglenook serve $(ARGS)

desktop: python  ## set up with a native window, then open it
	@$(SETUP) desktop
	@$(BIN)/python -m inglenook $(ARGS)

test: python     ## set up what the tests need, then run all of them, a core each (ARGS="-k name"; "-n 0": one by one)
	@$(SETUP) test
	@$(PYTEST) $(ARGS)

lint: python     ## ruff, mypy in strict mode, and the layers that imports must keep
	@$(SETUP) check
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

check: lint      ## lint and the quick tests: before every commit
	@$(PYTEST) -q -m "not slow and not e2e" $(ARGS)

bundle:          ## rebuild the browser's bundle in assets/ (needs Node.js and npm)
	@cd assets/build && npm ci --no-audit --no-fund && npm run build

bench-start: python  ## time from the command to the first page and the first token
	@$(SETUP) check
	@$(BIN)/python tests/benchmarks/startup.py $(ARGS)

bench-cpu: python    ## our speed beside llama-server's, an hour (ARGS="--only sweep --our-format advised"; needs cmake and ninja)
	@$(SETUP) check
	@$(BIN)/python -m tests.benchmarks.cpu $(ARGS)

bench-ui: python     ## what the pages cost in Chromium against their goals, 8 minutes (ARGS="--only pages")
	@$(SETUP) test
	@$(BIN)/python -m tests.benchmarks.ui $(ARGS)

soak: python         ## clients that come and vanish at random, then nothing may be left (ARGS="--minutes 10")
	@$(SETUP) test
	@$(BIN)/python -m tests.benchmarks.soak $(ARGS)

screenshots: python  ## pictures of every page and state into docs/screenshots, to be looked at, 8 minutes (ARGS="--all", "--only chat")
	@$(SETUP) test
	@$(BIN)/python -m tests.screenshots $(ARGS)

clean:           ## remove the environment and what tools left here; your chats and the compiled llama.cpp stay
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "Inglenook needs Python 3.11 or newer: apt install python3 python3-venv" >&2; exit 1; }
