# Two commands matter: `make run` shows the three panels, `make test` checks everything. Both set up what they need.

# PYTHON=/path/to/python3 names another interpreter for the virtual environment.
VENV := .venv
BIN := $(VENV)/bin
# Two cores. The folder has a short name since paths of unix sockets may not be long.
PYTEST := base=$$(mktemp -d /tmp/XXXXXX) && trap "rm -rf $$base" EXIT && $(BIN)/pytest -c tests/pytest.ini --basetemp=$$base/t

WORKERS := -n 2 --dist loadfile

.PHONY: help setup run test gen lint bench lab soak docs fuzz clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 10

setup:  ## system packages, virtual environment, C helpers; does nothing when they stand
	@PYTHON="$(PYTHON)" bash tools/setup.sh

run: setup  ## show the three panels on a private display, which is then live in a browser until Ctrl-C; OUT=DIR: where the files go
	@exec $(BIN)/triptych demo $(if $(KEEP),--keep) $(if $(OUT),--out "$(OUT)")

test: setup  ## check that generated files are current, lint, then every test; what fails is named, and tried once more alone
	@$(MAKE) --no-print-directory lint
	@($(PYTEST) $(WORKERS) tests $(ARGS)) || \
		{ echo "== once more, alone: what failed beside other tests" && ($(PYTEST) -n 0 --last-failed --last-failed-no-failures none tests $(ARGS)); }

gen: setup  ## write generated/ from schemas/ and machines/
	@$(BIN)/python -m triptych.tools.gen

lint: setup  ## ruff, mypy --strict, import rules, generated files current
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@mkdir -p .types && ln -sfn .. .types/triptych
	@$(BIN)/mypy -p triptych --exclude '(^|/)(tests|setup\.py|benchmarks)'
	@$(BIN)/lint-imports --no-cache --no-logo
	@$(BIN)/python -m triptych.tools.gen --check

bench: setup  ## ours beside a peer, interleaved: ONLY=name picks, JSON=1 prints an object a line
	@$(BIN)/python benchmarks/run.py $(if $(ONLY),--only $(ONLY)) $(if $(JSON),--json)

lab: setup  ## how old a picture is when a browser shows it, beside wrtc; needs root: ONLY=scenario picks, KEEP=1 keeps the figures
	@$(BIN)/python benchmarks/lab/run.py $(if $(ONLY),--scenario $(ONLY)) $(if $(KEEP),--keep) $(ARGS)

soak: setup  ## 20 minutes with a viewer and 10,000 open/close cycles; fails when the engine grew: MINUTES=, CYCLES=
	@$(BIN)/python -m triptych.tools.soak $(if $(MINUTES),--minutes $(MINUTES)) $(if $(CYCLES),--cycles $(CYCLES))

docs: setup  ## the documentation as HTML, with the diagrams as SVG
	@$(BIN)/python -m triptych.tools.docs

fuzz: setup  ## the property tests with many more examples, then a minute for each fuzz target
	@export HYPOTHESIS_PROFILE=fuzz; $(PYTEST) $(WORKERS) tests -m property $(ARGS)
	@$(BIN)/python -m triptych.tools.fuzz_termwright --seconds 60
	@$(BIN)/python -m triptych.tools.fuzz_rtc --seconds 60
	@$(BIN)/python -m triptych.tools.fuzz_desklink --seconds 60

clean:  ## remove what setup and the builds made
	@rm -rf $(VENV) build dist .types .setup.lock .hypothesis .mypy_cache .ruff_cache triptych-demo docs/_build native/*/*.so *.egg-info
	@find . -name __pycache__ -prune -exec rm -rf {} +
