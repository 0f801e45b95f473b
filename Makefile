# Every target does its own set-up; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
IS_NEW := -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
PYTHON ?= $(firstword $(foreach python,python3 python3.14 python3.13 python3.12 python3.11,\
  $(if $(shell $(python) $(IS_NEW) && echo yes),$(python))) python3)
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
COMPILE := $(UV) pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --quiet
CORE := layers/dependencies/requirements.txt
COMPARED := langgraph openai-agents pydantic-ai strands
LOCKS := requirements/bootstrap.txt $(CORE) layers/embedding/requirements.txt layers/ingestion/requirements.txt \
  requirements/emulator.txt requirements/dev.txt $(COMPARED:%=requirements/bench-%.txt)
OUT := .
NODE_MODULES := node_modules/.package-lock.json client/node_modules/.package-lock.json
PAGE := client/dist/index.html
PAGE_SOURCES := $(shell find client/src client/public client/index.html client/vite.config.ts -type f 2>/dev/null)
CDK := CDK_DISABLE_CLI_TELEMETRY=true JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=$$(node -p 'process.versions.node.split(".")[0]') \
  node_modules/.bin/cdk
REQUIRE_NODE = @command -v node >/dev/null && command -v npm >/dev/null && node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' \
  || { echo "Equerry needs Node 20 or newer with npm, on the PATH: https://nodejs.org, or your system's packages nodejs and npm."; exit 1; }

.PHONY: help env lock demo up down status check fix test test-iam bench synth types clean-local
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

env: $(VENV)/.installed $(NODE_MODULES) ## create or refresh the environments

demo: env $(PAGE) ## run the whole system here, index sample documents and ask a question; Ctrl-C stops it
	@$(BIN)/equerry local demo

up: env $(PAGE) ## start the local stack and return when it is ready
	@$(BIN)/equerry local up

down: $(VENV)/.installed ## stop the local stack; its state is kept
	@$(BIN)/equerry local down

status: $(VENV)/.installed ## tell how the local stack is
	@$(BIN)/equerry local status

clean-local: $(VENV)/.installed ## stop the local stack and forget all its state
	@$(BIN)/equerry local clean

check: env ## everything CI checks before it runs tests
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(MAKE) --no-print-directory lock-drift
	@$(BIN)/python -m local.codegen --check
	@$(MAKE) --no-print-directory synth
	@npm run --silent --prefix client check

fix: $(VENV)/.installed ## format, and repair what can be repaired
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

test: env $(PAGE) ## all tests: client, unit, contract, infra, integration, end to end
	@npm run --silent --prefix client test
	@$(BIN)/pytest

test-iam: env $(PAGE) ## the main job on the deployed stack once more, with execution roles enforced
	@EQUERRY_ENFORCE_IAM=true $(BIN)/pytest tests/integration/test_main_job.py \
	  tests/integration/test_the_stack_itself.py::test_who_was_granted_nothing_may_do_nothing

bench: env $(PAGE) ## measure retrieval, the local stack, what a turn costs and the loop's own overhead, here
	@$(BIN)/python -m bench.retrieval
	@$(BIN)/python -m bench.stack
	@$(BIN)/python -m bench.cost
	@$(BIN)/python -m bench.model_adapters
	@$(BIN)/python -m bench.overhead

synth: env ## synthesise the production configuration and lint it; needs no credentials
	@$(CDK) synth --quiet --context stage=production --output cdk.out/production
	@$(BIN)/cfn-lint cdk.out/production/*.template.json

types: env ## generate the client's types from the events' declaration again
	@$(BIN)/python -m local.codegen

$(UV): requirements/bootstrap.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"Equerry needs Python 3.11 or newer; {sys.executable} is {v.major}.{v.minor}. Set PYTHON=/path/to/python3.11.")'
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt
	@touch $@

$(VENV)/.installed: $(UV) requirements/dev.txt layers/shared/pyproject.toml pyproject.toml
	@echo "installing the application environment"
	@$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements/dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r requirements/bootstrap.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e layers/shared -e .
	@touch $@

node_modules/.package-lock.json: package-lock.json
	$(REQUIRE_NODE)
	@echo "installing the CDK command line"
	@npm ci --loglevel=error >/dev/null
	@touch $@

client/node_modules/.package-lock.json: client/package-lock.json
	$(REQUIRE_NODE)
	@echo "installing the chat page's packages"
	@npm ci --loglevel=error >/dev/null --prefix client
	@touch $@

$(PAGE): client/node_modules/.package-lock.json client/package.json $(PAGE_SOURCES)
	@echo "building the chat page"
	@npm run --silent --prefix client build -- --logLevel warn
	@touch $@

lock: $(UV) ## compile the hashed requirements again
	@$(COMPILE) requirements/bootstrap.in -o $(OUT)/requirements/bootstrap.txt
	@$(COMPILE) layers/shared/pyproject.toml -o $(OUT)/$(CORE)
	@$(COMPILE) layers/embedding/requirements.in -c $(CORE) -o $(OUT)/layers/embedding/requirements.txt
	@$(COMPILE) layers/ingestion/requirements.in -c $(CORE) -o $(OUT)/layers/ingestion/requirements.txt
	@$(COMPILE) requirements/emulator.in -o $(OUT)/requirements/emulator.txt
	@for name in $(COMPARED); do $(COMPILE) requirements/bench-$$name.in -o $(OUT)/requirements/bench-$$name.txt || exit 1; done
	@$(COMPILE) pyproject.toml layers/shared/pyproject.toml layers/embedding/requirements.in layers/ingestion/requirements.in \
	  -c $(CORE) -c layers/embedding/requirements.txt -c layers/ingestion/requirements.txt -o $(OUT)/requirements/dev.txt

.PHONY: lock-drift
lock-drift: $(UV)
	@fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && tar cf - $(LOCKS) | tar xf - -C "$$fresh" && \
	  $(MAKE) --no-print-directory lock OUT="$$fresh" && \
	  for lock in $(LOCKS); do diff -u "$$lock" "$$fresh/$$lock" || { echo "$$lock is not what it is compiled from: make lock"; exit 1; }; done
