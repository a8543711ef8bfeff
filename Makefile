# PYTHON is any interpreter from 3.11 on; everything else is installed into VENV.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
JOBS ?= 2
# How `make demo` verifies: auto takes the GPU where there is one, else the tile interpreter.
DEVICE ?= auto
CASES ?= 10

.PHONY: help demo test lint format golden clean

help:
	@echo "make demo    install, build every spec in specs/ and prove it"
	@echo "make test    install, run the tests"
	@echo "make lint    ruff and mypy"
	@echo "make format  rewrite the sources as ruff formats them"
	@echo "make golden  rewrite golden files and generated pages"

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(VENV)/installed
	$(BIN)/tilespec doctor || true
	$(BIN)/tilespec build specs/
	$(BIN)/tilespec verify specs/ --device $(DEVICE) --cases $(CASES) -j $(JOBS)

test: $(VENV)/installed
	$(BIN)/python -m pytest -n $(JOBS)

lint: $(VENV)/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/installed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

golden: $(VENV)/installed
	$(BIN)/python -m pytest -n 0 --update-golden

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
