# Everything a newcomer needs: `make up` to see it, `make test` to trust it.
# Only make and a Python of 3.11 or later are taken for granted; the rest goes into .venv.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Python keeps what it compiled, also where the environment says not to: tests start hundreds of processes,
# and every one of them would compile the package again.
export PYTHONDONTWRITEBYTECODE :=

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
WARMED := $(VENV)/.warmed
KERNELS := $(wildcard src/bigfleet/engine/kernels/*.py src/bigfleet/wire/list_walker.py src/bigfleet/compiling.py)
# Four, also on two cores: a third of its time a worker waits for a process or a socket. Not more:
# every worker collects all tests and loads its own compiled kernels.
JOBS   ?= -n 4 --dist worksteal
# Pure tests wait for nothing.
PURE_JOBS ?= -n auto --maxprocesses 4 --dist worksteal
# For `make quick`: tests that start no event loop and no process (tests/habits checks that).
PURE   := $(addprefix tests/, \
    assignment coordinator costs crds drains execution failures folding gangs generated \
    habits hints ingest ledgers model need_states offerings operator_demand \
    operator_nodes ownership placement preemption quarantine quota_withholding quotas \
    rails rebalance reconciling releasing sessions shard_cases sim_clusters \
    spreading)
# More words for `make up`, such as UP="--headless --for 60s".
UP     ?=
# More words for `make e2e`, such as E2E="-k drain".
E2E    ?=
# Half of their time clusters wait: two workers, each with clusters of its own.
E2E_JOBS ?= -n 2 --dist worksteal
# What builds the documentation site or minds commits is apart from what runs and tests BigFleet.
DOCS_ENV := build/docs-env
HOOKS_ENV := build/hooks-env
# For `make cluster`: the folder of `bigfleet certs`, and another name than shop.
CERTS   ?=
CLUSTER ?=
CERTIFY := tests/conformance tests/examples tests/provider/commands
# What every command loads: compiled once at installation, half a second less for each command.
COMMAND_LINE := click grpc google yaml orjson typing_extensions.py
SHAPES ?= uber-50k uber-500k B1 B2 B7 B10 B11

.PHONY: help install up test quick lint types contracts warm unit certify e2e-setup e2e e2e-bench web-bench cluster format nightly bench mutants planted protos web web-test reference docs hooks pre-commit release lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

install: $(STAMP) ## Install BigFleet and its tools into .venv (skipped when nothing changed)

up: $(WARMED) ## See BigFleet live: a coordinator, a shard, a provider and three clusters (Ctrl-C ends it)
	@$(BIN)/bigfleet up $(UP)

test: lint types contracts ## Check everything: style, types, import contracts, tests
	@$(MAKE) --no-print-directory unit

# Types of the package only: those of the tests take `make types`. From cold mypy takes 20 seconds more.
quick: lint contracts $(WARMED) ## Check style, types of the package, contracts and the pure tests (a minute)
	$(BIN)/mypy src
	$(BIN)/pytest $(PURE_JOBS) $(PURE)

lint: $(STAMP) ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## Check types (mypy strict over package and tests)
	$(BIN)/mypy

contracts: $(STAMP) ## Check the import contracts between the rings
	$(BIN)/lint-imports --no-logo

unit: warm ## Run the tests
	$(BIN)/pytest $(JOBS)

# In one process: rows that kill, wait and measure must not compete with one another.
certify: $(STAMP) ## Certify our own providers and prove that the suite can fail (minutes)
	$(BIN)/pytest $(CERTIFY) -m certification -p no:xdist --timeout 1800 --durations 0 -q

e2e-setup: $(STAMP) ## Build etcd, Kubernetes and helm into a cache, install a browser (once, minutes)
	@$(BIN)/python -m tests.e2e.setting_up

# In one process: control planes are shared from test to test, and take a machine for themselves.
e2e: $(WARMED) ## Run real clusters, a fleet and a browser on the loopback (needs e2e-setup)
	$(BIN)/pytest tests/e2e -m e2e $(E2E_JOBS) --timeout 600 --durations 10 -q $(E2E)

cluster: $(STAMP) ## Run a Kubernetes control plane to try things on (needs e2e-setup; Ctrl-C ends it)
	@$(BIN)/python -m tests.e2e.rig $(if $(CERTS),--certs $(CERTS)) $(if $(CLUSTER),--name $(CLUSTER))

e2e-bench: $(WARMED) ## Measure a surge of 1,000 pods in a real cluster (needs e2e-setup)
	@$(BIN)/python -m tests.e2e.surge --pods 1000

web-bench: $(WARMED) ## Measure the page in a browser: loads, tables, a map (needs e2e-setup)
	@$(BIN)/python -m tests.e2e.page.measuring

# Once, before several workers start: otherwise each of them compiles the same kernels.
warm: $(WARMED) ## Compile the engine's kernels (skipped when none has changed)

$(WARMED): $(STAMP) $(KERNELS)
	@echo "Compiling the engine's kernels (once, half a minute)"
	@$(BIN)/bigfleet warm
	@touch $@

format: $(STAMP) ## Rewrite the code in the house format
	$(BIN)/ruff check --fix --select I .
	$(BIN)/ruff format .

nightly: warm ## Long generated runs: the oracle and the laws on thousands of fleets
	BIGFLEET_NIGHTLY=1 $(BIN)/pytest $(JOBS) --timeout 7200

bench: $(STAMP) ## Measure the shapes of docs/performance.md on this machine
	$(BIN)/bigfleet bench $(SHAPES)

mutants: $(STAMP) ## Flip single decisions of the engine and see each one caught
	$(BIN)/python tests/mutants/run.py

planted: $(STAMP) ## Plant a bug for each law of the simulator and see each one found
	$(BIN)/python -m tests.simulation.planted

protos: $(STAMP) ## Generate the Python of src/bigfleet/protos again
	$(BIN)/python tests/wire/generate.py

# The only steps that need Node (20.19 or later): what is built is committed.
web: web-test ## Check and build the page from web into the package (needs Node)
	cd web && npm run -s build

web-test: ## Check types and tests of the page's sources (needs Node)
	@command -v npm >/dev/null || { echo "the page's sources need Node 20.19 or later with npm" >&2; exit 1; }
	cd web && npm ci --no-audit --no-fund && npm run -s types && npm -s test

reference: $(STAMP) ## Write docs/reference and docs/troubleshooting.md from the code again
	$(BIN)/python -m tests.site.reference

# Not --quiet: what it does not print it does not count as a reason to fail either.
docs: $(DOCS_ENV)/.installed ## Build the documentation site into build/site; a broken link fails
	@$(BIN)/python -m tests.site.staging build/docs
	@$(DOCS_ENV)/bin/properdocs build --strict --config-file mkdocs.yml
	@$(BIN)/python -m tests.site.other_hosts build/site
	@echo "The documentation is in build/site/index.html"

hooks: $(HOOKS_ENV)/.installed ## Check every commit before it is made (once per clone)
	@$(HOOKS_ENV)/bin/pre-commit install

pre-commit: $(HOOKS_ENV)/.installed ## Run the checks of a commit on all files
	@if git rev-parse --is-inside-work-tree >/dev/null 2>&1; \
	then PRE_COMMIT_HOME=$(CURDIR)/build/pre-commit \
	  $(HOOKS_ENV)/bin/pre-commit run --all-files --show-diff-on-failure; \
	else echo "Not a git clone: hooks have nothing to run on; see lint, types and contracts"; fi

build/%-env/.installed: requirements/%.txt $(STAMP)
	@rm -rf $(@D)
	@$(BIN)/python -m venv --without-pip $(@D)
	@$(BIN)/uv pip install --quiet --python $(@D)/bin/python --require-hashes -r $<
	@touch $@

release: $(STAMP) ## Build wheel and sdist into dist, and try the wheel in an empty environment
	@rm -rf dist
	@$(BIN)/python -m hatchling build -d dist
	@$(BIN)/python -m tests.release.trial dist

lock: $(STAMP) ## Resolve requirements/*.txt again, with hashes and without any registry address
	cd requirements && ../$(BIN)/uv pip compile --quiet --upgrade $(LOCK_FLAGS) \
	  bootstrap.in --output-file bootstrap.txt
	$(BIN)/uv pip compile --quiet --upgrade $(LOCK_FLAGS) \
	  pyproject.toml --output-file requirements/runtime.txt
	$(BIN)/uv pip compile --quiet --upgrade $(LOCK_FLAGS) \
	  pyproject.toml --group dev --output-file requirements/dev.txt
	$(BIN)/uv pip compile --quiet --upgrade $(LOCK_FLAGS) \
	  --group docs --output-file requirements/docs.txt
	$(BIN)/uv pip compile --quiet --upgrade $(LOCK_FLAGS) \
	  --group hooks --output-file requirements/hooks.txt

LOCK_FLAGS := --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
              --no-emit-find-links --no-header --no-annotate

clean: ## Remove the environment and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# One installer at a time, also when two makes start together; the second one finds it done.
# (Not on .venv/.lock: uv locks that file itself and would wait for us.)
$(STAMP): pyproject.toml requirements/bootstrap.txt requirements/dev.txt
	@test -n "$(PYTHON)" || { echo "BigFleet needs Python 3.11 or later as python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "BigFleet needs Python 3.11 or later; $(PYTHON) is older" >&2; exit 1; }
	@mkdir -p $(VENV)
	@if command -v flock >/dev/null; then exec 9>$(VENV)/.making; flock 9; fi; \
	up_to_date() { [ -e $@ ] && for f in $^; do [ $@ -nt $$f ] || return 1; done; }; \
	if up_to_date; then exit 0; fi; \
	echo "Installing BigFleet and its tools into $(VENV)"; \
	[ -x $(BIN)/python ] || "$(PYTHON)" -m venv $(VENV); \
	if $(BIN)/python -m pip install --quiet --require-hashes -r requirements/bootstrap.txt \
	   && $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes \
	      -r requirements/dev.txt; \
	then installer="$(BIN)/uv pip install --quiet --python $(BIN)/python"; \
	else echo "uv did not manage; installing with pip"; \
	  $(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt; \
	  installer="$(BIN)/python -m pip install --quiet"; fi; \
	$$installer --no-deps --no-build-isolation --editable .; \
	$(BIN)/python -m compileall -q src $(addprefix $(VENV)/lib/python3*/site-packages/,$(COMMAND_LINE)) || true; \
	touch $@
