# Every target does its own set-up; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
COMPILE := $(UV) pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --quiet
CORE := layers/dependencies/requirements.txt

.PHONY: help env lock
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

env: $(VENV)/.installed ## create or refresh the application environment

$(UV): requirements/bootstrap.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"Equerry needs Python 3.11 or newer; {sys.executable} is {v.major}.{v.minor}. Set PYTHON=/path/to/python3.11.")'
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt

$(VENV)/.installed: $(UV) requirements/dev.txt layers/shared/pyproject.toml pyproject.toml
	@echo "installing the application environment"
	@$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements/dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r requirements/bootstrap.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e layers/shared -e .
	@touch $@

lock: $(UV) ## compile the hashed requirements again
	@$(COMPILE) requirements/bootstrap.in -o requirements/bootstrap.txt
	@$(COMPILE) layers/shared/pyproject.toml -o $(CORE)
	@$(COMPILE) layers/embedding/requirements.in -c $(CORE) -o layers/embedding/requirements.txt
	@$(COMPILE) layers/ingestion/requirements.in -c $(CORE) -o layers/ingestion/requirements.txt
	@$(COMPILE) requirements/emulator.in -o requirements/emulator.txt
	@$(COMPILE) pyproject.toml layers/shared/pyproject.toml layers/embedding/requirements.in layers/ingestion/requirements.in \
	  -c $(CORE) -c layers/embedding/requirements.txt -c layers/ingestion/requirements.txt -o requirements/dev.txt
