# A fresh machine needs Python 3.10 or later, cargo and a C compiler; everything else comes into $(VENV).

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet

# One interpreter for maturin, clippy and the tests, so that cargo builds the bindings once.
export PYO3_PYTHON := $(abspath $(BIN)/python)

ENVIRONMENT := $(VENV)/.environment
PACKAGE := $(VENV)/.package
BENCH := $(VENV)/.bench
WHEELS := $(VENV)/wheels

SOURCES := $(shell find rust/core rust/bindings python -name '*.rs' -o -name '*.toml' -o -name '*.py' -o -name '*.pyi' -o -name '*.js') \
	Cargo.toml $(wildcard Cargo.lock) pyproject.toml README.md LICENSE

FUZZ_SECONDS ?= 20
FUZZ_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
FUZZ_FLAGS := --cfg fuzzing -Zsanitizer=address -Ccodegen-units=1 -Cpasses=sancov-module \
	$(addprefix -Cllvm-args=-sanitizer-coverage-,level=4 inline-8bit-counters pc-table trace-compares)

.DEFAULT_GOAL := build
.PHONY: build demo test check bench fuzz-short clean

build: $(PACKAGE)

demo: build
	@$(BIN)/toolprune scan samples

test: build
	cargo test --quiet --locked --package toolprune-core
	$(BIN)/python -m pytest

check: build
	cargo fmt --all -- --check
	cargo fmt --manifest-path rust/fuzz/Cargo.toml -- --check
	cargo fmt --manifest-path benches/peers/rust/Cargo.toml -- --check
	cargo metadata --locked --quiet --format-version 1 --manifest-path rust/fuzz/Cargo.toml >/dev/null
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=python $(BIN)/lint-imports

bench: build $(BENCH)
	$(BIN)/python benches/run.py

# What `cargo fuzz run` does, without the time that installing cargo-fuzz takes. It needs a nightly toolchain, which only rustup can bring.
fuzz-short:
	@if ! cargo +nightly --version >/dev/null 2>&1; then \
		echo "no fuzzing here: the nightly toolchain is missing, install it with 'rustup toolchain install nightly'"; \
	else \
		set -e; \
		RUSTFLAGS="$(FUZZ_FLAGS)" cargo +nightly build --quiet --release --locked --target $(FUZZ_HOST) --manifest-path rust/fuzz/Cargo.toml; \
		for target in lines strings; do \
			rust/fuzz/target/$(FUZZ_HOST)/release/$$target -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -verbosity=0 -print_final_stats=1; \
		done; \
	fi

clean:
	rm -rf $(VENV) target rust/fuzz/target

$(ENVIRONMENT): constraints.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "toolprune needs Python 3.10 or later: make PYTHON=python3.12 build"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt --upgrade pip
	$(PIP) install -c constraints.txt --group dev --group hosts
	touch $@

$(PACKAGE): $(ENVIRONMENT) $(SOURCES)
	rm -rf $(WHEELS)
	$(BIN)/maturin build --release --locked --quiet --interpreter $(BIN)/python --out $(WHEELS)
	$(PIP) install -c constraints.txt $(WHEELS)/*.whl
	$(PIP) install --no-deps --force-reinstall $(WHEELS)/*.whl
	touch $@

$(BENCH): $(ENVIRONMENT)
	$(PIP) install -c constraints.txt --group bench
	touch $@
