# make quickstart: set up and see the main job.  make test: set up and test.  make check: format, lint, types, layers.
# make docs: the site with the API reference, in build/site.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.made

.PHONY: env quickstart test test-slow check format docs

env: $(STAMP)

$(STAMP): constraints.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(STAMP)

quickstart: env
	$(BIN)/cooper compare --config recipes/quickstart.yaml --arms rule,static,cooper --seeds 0 --output_dir runs/quickstart

test: env
	$(BIN)/python -m pytest -q -m "not slow"

test-slow: env
	$(BIN)/python -m pytest -q

check: env
	$(BIN)/ruff format --check src tests scripts benchmarks
	$(BIN)/ruff check src tests scripts benchmarks
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/unit/test_layers.py

format: env
	$(BIN)/ruff format src tests scripts benchmarks
	$(BIN)/ruff check --fix src tests scripts benchmarks

docs: env
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
