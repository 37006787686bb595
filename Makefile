.DEFAULT_GOAL := help
PYTHON ?= python3.11
BIN := .venv/bin
LOGS ?= sample_logs

.PHONY: help setup run test check bench fix clean
help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
setup: .venv/.installed  ## Make .venv and install timeledger with its tools
.venv/.installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@
run: setup  ## Open the dashboard on the bundled sample logs (LOGS="path ..." for your own)
	$(BIN)/timeledger open $(LOGS)
test: setup  ## Run the tests
	$(BIN)/python -m pytest -n auto
check: setup  ## Lint, format check, types, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto
bench: setup  ## Run the benchmarks; tables go to benchmarks/results/
	$(BIN)/python -m benchmarks
fix: setup  ## Apply the formatter and the lint's own fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
clean:  ## Remove .venv and build output
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
