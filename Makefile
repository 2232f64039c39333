# Two commands matter: `make run` shows the three panels, `make test` checks everything. Both set up what they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/pytest -c tests/pytest.ini

.PHONY: help setup run test gen lint bench docs fuzz soak clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 10

setup:  ## system packages, virtual environment, C helpers; does nothing when they stand
	@PYTHON=$(PYTHON) bash tools/setup.sh

run: setup  ## show the three panels on a private display; KEEP=1 stays until Ctrl-C
	@exec $(BIN)/triptych demo $(if $(KEEP),--keep)

test: setup  ## check that generated files are current, lint, then every test
	@$(MAKE) --no-print-directory lint
	@$(PYTEST) tests $(ARGS)

gen: setup  ## write generated/ from schemas/ and machines/
	@$(BIN)/python -m triptych.tools.gen

lint: setup  ## ruff, mypy --strict, import rules, generated files current
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@mkdir -p .types && ln -sfn .. .types/triptych
	@$(BIN)/mypy -p triptych --exclude '(^|/)(tests|setup\.py|benchmarks)'
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m triptych.tools.gen --check

bench: setup  ## ours beside a peer, interleaved: ONLY=name picks, JSON=1 prints an object a line
	@$(BIN)/python benchmarks/run.py $(if $(ONLY),--only $(ONLY)) $(if $(JSON),--json)

docs: setup  ## the documentation as HTML, with the diagrams as SVG
	@$(BIN)/python -m triptych.tools.docs

fuzz: setup  ## the property tests with many more examples
	@HYPOTHESIS_PROFILE=fuzz $(PYTEST) tests -m property $(ARGS)

clean:  ## remove what setup and the builds made
	@rm -rf $(VENV) build dist .types triptych-demo docs/_build native/*/*.so *.egg-info
