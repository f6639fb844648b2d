# make demo   builds pgclinic and runs its main jobs: the checkup of a sick server, with the proof of its treatment on a
#             twin; then one published claim on a real server, with a verdict
# make test   everything that must hold before a change lands
# make lint   formatting, types, layers
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export UV_PYTHON_DOWNLOADS := never
export CARGO_TARGET_DIR ?= $(CURDIR)/target
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
# Tests are compiled once, and not by each worker.
unexport PYTHONDONTWRITEBYTECODE
# Tests beside each other: more than processors, as most of their time is that of waiting. With six on two processors
# what has a budget came too late here and there.
WORKERS ?= 5
RUST_SOURCES := $(shell find crates -name '*.rs' -not -path '*/target/*') $(wildcard crates/*/Cargo.toml) Cargo.toml Cargo.lock

.PHONY: docs wheels reference readme-picture claims-table build demo test tests-beside-each-other lint rust-test rust-tests-built rust-lint python-lint test-tools lock clean

build: $(VENV)/.built

# Whatever the verdict is here, it was shown: 3 is a refuted claim, 4 a machine too noisy to tell.
demo: build
	$(BIN)/python tools/demo-checkup
	$(BIN)/pgclinic study run global-counters --profile demo || (code=$$?; [ $$code -eq 3 ] || [ $$code -eq 4 ])

# What looks at the whole machine or at the clock runs first, with nothing beside it, and the tests of the engine, which
# look at the clock too, last. Most of the time of the other tests is that of waiting, for servers and for the seconds of a
# load: types are checked and the engine is built meanwhile, by processes that give way.
test: test-tools
	$(BIN)/python -m pytest -m alone
	$(MAKE) --no-print-directory --jobs 2 GIVE_WAY='nice -n 10' tests-beside-each-other lint rust-tests-built
	$(MAKE) --no-print-directory rust-test
	# How the tests of the product ended, whose line the engine's have pushed up.
	@tail -n 1 $(VENV)/.tests-said

tests-beside-each-other: $(VENV)/.dev
	# A worker that has nothing left takes from another; tests/fixtures/dealt.py lets each begin with what takes long.
	# What fails there runs once more with nothing beside it, by name: a busy machine can break a test, a defect fails again.
	# Both draw by the same seed: the name of a drawn test is that of its place in the draw.
	export PGCLINIC_TEST_SEED=$${PGCLINIC_TEST_SEED:-$$RANDOM$$RANDOM}; \
	{ $(BIN)/python -m pytest -m "not alone" --numprocesses $(WORKERS) --dist worksteal --durations 20 --durations-min 5 || \
	  { [ $$? -eq 1 ] && $(BIN)/python -m pytest -m "not alone" --last-failed --last-failed-no-failures none --maxfail 1 \
	    --verbose; }; } 2>&1 | tee $(VENV)/.tests-said

lint: rust-lint python-lint

rust-lint: $(VENV)/.dev
	cargo fmt --all --check
	$(GIVE_WAY) cargo clippy --quiet --workspace --all-targets --locked -- -D warnings

rust-tests-built: $(VENV)/.dev
	$(GIVE_WAY) cargo test --quiet --workspace --locked --no-run

rust-test: $(VENV)/.dev
	cargo test --quiet --workspace --locked
	PGCLINIC_LOAD_IO=epoll cargo test --quiet --locked --workspace --test 'load_*'
	# What macOS has.
	PGCLINIC_LOAD_IO=poll cargo test --quiet --locked --workspace --test load_run --test load_shell --test load_connect

python-lint: $(VENV)/.dev
	$(BIN)/ruff format --check --quiet python tests benches docs/site
	$(BIN)/ruff check --quiet python tests benches docs/site
	$(GIVE_WAY) $(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-cache --verbose >/dev/null || $(BIN)/lint-imports --no-cache
	$(GIVE_WAY) $(BIN)/python -m mypy.stubtest --concise pgclinic._load
	@$(BIN)/python tools/long-files

# The schemas, for the editor of a study file, and the page of findings beside findings.
reference: $(VENV)/.dev
	$(BIN)/python tools/write-reference docs/reference
	$(BIN)/python tools/write-cross-fire

# The documentation as a site, in build/site: a folder of files, which a browser opens without a server.
docs: $(VENV)/.dev
	$(BIN)/python docs/site/build_site.py

# README's picture and sample output. With RUN=runs/..., a run of `make demo`, that becomes the kept one first.
DEMO_EVIDENCE := docs/evidence/global-counters-demo.tar.xz
readme-picture: $(VENV)/.dev test-tools
	$(if $(RUN),$(BIN)/python tools/keep-run $(RUN))
	$(BIN)/python tools/readme-picture --archive $(DEMO_EVIDENCE)
	$(BIN)/python tools/readme-terminal

# The tables of claims in BENCHMARKS and README, from the runs that tools/keep-run has put into docs/evidence.
claims-table: $(VENV)/.dev
	$(BIN)/python tools/write-claims-table

# The browser and the terminal that tests need: installed where that is possible, named where it is not.
test-tools: $(VENV)/.dev
	@tools/test-tools

$(VENV)/.tools: requirements/build.txt tools/bootstrap
	@tools/bootstrap $(PYTHON) $(VENV)
	@touch $@

$(VENV)/.core: $(VENV)/.tools requirements/core.txt
	# Compiled once, as pip does: a command that starts compiles nothing, also where Python may not write beside its sources.
	$(BIN)/uv pip install --quiet --compile-bytecode --require-hashes -r requirements/build.txt -r requirements/core.txt
	@touch $@

$(VENV)/.built: $(VENV)/.core $(RUST_SOURCES) pyproject.toml
	# maturin wants the folder of what a wheel has beside the package (tools/wheel_backend.py), also where nothing is in it.
	@mkdir -p pgclinic.data
	$(BIN)/maturin develop --uv --release --locked --quiet
	@rmdir pgclinic.data 2>/dev/null || true
	# Both packages are named so that the libraries are those that the line above has built, with the same features.
	cargo build --quiet --release --locked -p pgclinic-load -p pgclinic-load-python --features pgclinic-load-python/extension-module --bin pgclinic-load
	@install -m 755 $(CARGO_TARGET_DIR)/release/pgclinic-load $(BIN)/pgclinic-load
	@$(BIN)/python -m compileall -q python/pgclinic
	@touch $@

$(VENV)/.dev: $(VENV)/.built requirements/dev.txt
	$(BIN)/uv pip install --quiet --require-hashes -r requirements/dev.txt
	@touch $@

# Pin anew what requirements/*.in and pyproject.toml ask for.
lock: $(VENV)/.tools
	$(BIN)/uv pip compile --quiet --generate-hashes --no-header --python-version 3.11 requirements/build.in -o requirements/build.txt
	$(BIN)/uv pip compile --quiet --generate-hashes --no-header --python-version 3.11 -c requirements/held.in pyproject.toml -o requirements/core.txt
	$(BIN)/uv pip compile --quiet --generate-hashes --no-header --python-version 3.11 requirements/dev.in -o requirements/dev.txt
	$(BIN)/uv pip compile --quiet --generate-hashes --no-header --python-version 3.11 requirements/release.in -o requirements/release.txt

# Wheels and source distribution in dist/. The compiler and linker for other machines come from requirements/release.txt.
wheels: $(VENV)/.built requirements/release.txt
	$(BIN)/uv pip install --quiet --require-hashes -r requirements/release.txt
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/build-wheels

clean:
	rm -rf $(VENV) target
