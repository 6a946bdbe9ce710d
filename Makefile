# The project's commands. `make` alone lists them.
#
# Variables: PYTHON  the interpreter that makes the environment     (python3)
#            VENV    where the environment lives                    (.venv)
#            GROUP   the dependency group installed into it         (dev)
#            ARGS    handed to the command, e.g. make test ARGS="-k retry -x", make quickstart ARGS=--no-browser

PYTHON = python3
VENV = .venv
GROUP = dev
ARGS =

BIN = $(VENV)/bin
INSTALLED = $(VENV)/.installed-$(GROUP)
NODE_MODULES = node_modules/.package-lock.json
NOTEBOOK = notebooks/quickstart.ipynb
# Jupyter wants to be told when it runs as root, as it does in a container.
AS_ROOT = `[ "$$(id -u)" != 0 ] || echo --allow-root`

.PHONY: help install quickstart test check lint format types layers front front-check coverage bench peers kernels docs front-packages

help:
	@echo "make quickstart   open the quickstart notebook in JupyterLab"
	@echo "make test         run the tests                  (ARGS=... goes to pytest)"
	@echo "make check        style, types, layers and the front end"
	@echo "make format       let the formatters rewrite the sources"
	@echo "make docs         build the documentation into site/, and fail on the first broken link"
	@echo "make coverage     run the tests and hold the coverage floors"
	@echo "make bench        run the benchmarks"
	@echo "make peers        measure beside other tools, and write docs/figures-beside-peers.md"
	@echo "make kernels      test waits and clicks on other versions of ipykernel, and measure clicks"
	@echo "make front        build the notebook views       (needs Node 20 or newer)"

# ---- environment: made when missing, brought up to date when pyproject.toml changes
# (uv installs in seconds; pip does the same in a minute, where uv does not know this machine's package index)

install: $(INSTALLED)

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --upgrade pip uv
	$(BIN)/uv pip install --quiet --system-certs --python $(BIN)/python --editable '.[all]' --group $(GROUP) \
	  || $(BIN)/python -m pip install -qq --editable '.[all]' --group $(GROUP)
	@touch $@

$(NODE_MODULES): package.json package-lock.json
	@command -v npm >/dev/null || { echo "Node 20 or newer with npm is needed to work on the notebook views"; exit 1; }
	npm ci
	@touch $@

front-packages: $(NODE_MODULES)

# ---- what people run

quickstart: $(INSTALLED)
	$(BIN)/jupyter lab $(AS_ROOT) $(NOTEBOOK) $(ARGS)

test: $(INSTALLED)
	$(BIN)/python -m pytest $(ARGS)

bench: $(INSTALLED)
	$(BIN)/python -m pytest tests/benchmarks -o 'python_files=bench_*.py' -o 'python_functions=bench_*' -p no:randomly --benchmark-only $(ARGS)

# Installs each of the other tools into an environment of its own, within $(VENV).
peers: $(INSTALLED)
	$(BIN)/python tests/benchmarks/peers $(ARGS)

# The notice is about the successor of a tool.
docs: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict $(ARGS)

kernels: $(INSTALLED)
	$(BIN)/python -m tests.kernels.environments
	CHONGMING_KERNELS=all CHONGMING_REQUIRE=browser,notebook $(BIN)/python -m pytest tests/kernels tests/browser/test_waiting_lab.py $(ARGS)
	$(BIN)/python -m tests.kernels.measure

coverage: $(INSTALLED)
	PYTEST_ADDOPTS="--cov --cov-report=" $(BIN)/python -m pytest $(ARGS)
	$(MAKE) coverage-floors

# Reads what a test run under `--cov` left behind.
.PHONY: coverage-floors
coverage-floors: $(INSTALLED)
	$(BIN)/coverage report --include='src/chongming_task/core/*' --fail-under=95
	$(BIN)/coverage report --omit='src/chongming_task/core/*' --fail-under=85

# ---- what CI holds us to

check: lint types layers front-check

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

layers: $(INSTALLED)
	$(BIN)/lint-imports --no-logo

front-check: $(NODE_MODULES)
	@! grep -n '"resolved":' package-lock.json || { echo "package-lock.json names download addresses: keep .npmrc and run npm install again"; exit 1; }
	npm run --silent typecheck
	npm run --silent lint
	npm run --silent test
	npm run --silent verify

front: $(NODE_MODULES)
	npm run --silent build

format: $(INSTALLED) $(NODE_MODULES)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	npm run --silent format
