# Two commands matter on a fresh machine: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXTRAS ?= repl,dtypes,analyze,dev
WORKERS ?= 2

.PHONY: demo test lint types unit deep bench pages clean

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tessera-rules needs Python 3.11 or later (PYTHON=… names one)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -W ignore -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]' 2>.venv/pip.log || { cat .venv/pip.log; exit 1; }
	touch $@

demo: $(STAMP)
	$(BIN)/python docs/examples/demo.py

test: lint types unit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/python -m pytest -p xdist -n $(WORKERS) -q

# Slow searches: property tests with many more examples, sanitizers, fuzzing.
deep: $(STAMP)
	TSR_DEEP=1 $(BIN)/python -m pytest -p xdist -n $(WORKERS) -q

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# The pages that are made from the code: docs/codes, docs/schema.
pages: $(STAMP)
	$(BIN)/python -m tessera_rules.report.pages docs/codes

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
