# Every target sets up what it needs and redoes nothing that is up to date: a virtual environment in $(VENV), the
# dependencies of requirements.lock in it, and the engine built in release mode. `make help` lists the targets.

PYTHON ?= python3
VENV ?= .venv
CARGO ?= cargo
BIN := $(VENV)/bin

# Images of containers often set this. Without bytecode, each of the hundreds of processes that the tests start compiles
# the modules that it imports: 2.5 s for Fairport with its figures.
unexport PYTHONDONTWRITEBYTECODE

# What the extension is built from; the Python front is installed editable and needs no rebuild.
RUST_SOURCES := $(shell find crates -name '*.rs' -path '*/src/*') $(wildcard crates/*/Cargo.toml) \
	Cargo.toml Cargo.lock rust-toolchain.toml pyproject.toml tests/repo/fingerprints.json

# `make bench` and `make validate` take one CASE each, and its options in ARGS; `make renew` takes WHAT.
CASE ?=
ARGS ?=

WHEEL_DOCS := crates/python/fairport.data/data/share/doc/fairport
# a workspace of its own
ONE_PROGRAM := validation/mutants/one-program
WHAT ?=

.PHONY: help demo test .rust-tests lint wheel $(WHEEL_DOCS) bench validate attack mutants kernel-diff renew clean
.DELETE_ON_ERROR:

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

# A folder of its own: the demo replaces what an earlier demo left, and never a result that a user has put elsewhere.
demo: $(VENV)/.built  ## run the first scenario, `outcast`, with four seeds, and print where its report is
	@$(BIN)/fairport run outcast --repeat 4 --out results/demo --force && echo "The report: results/demo/report.html"

# Needs no Python packages, so `make --jobs` runs it while they are installed, and while the engine is compiled. Without
# `--tests`, cargo would compile the examples as well, one of which is the whole engine again; clippy checks them. rustdoc
# would warn that it cannot reach make's job server.
.rust-tests: $(VENV)/.tools
	$(CARGO) test --workspace --locked --tests
	MAKEFLAGS= $(CARGO) test --workspace --locked --doc
	$(CARGO) test --manifest-path $(ONE_PROGRAM)/Cargo.toml --target-dir target/one-program --locked

# Tests with the mark `alone` need real time or the whole machine; the others run on every core, a file in one process.
# The files of tests/repo come first: they have the longest tests.
test: .rust-tests $(VENV)/.built  ## run every test, Rust and Python
	$(BIN)/python -m pytest -m "not alone" --numprocesses logical --dist loadfile --no-loadscope-reorder tests/repo tests/python
	$(BIN)/python -m pytest -m "alone" tests/repo tests/python

# First what does not wait until cargo has compiled the tests. The last two need tools, or a network, that may not be there:
# they are skipped with their reason. The fuzz targets are checked without libFuzzer, which is C++ and takes half a minute to
# compile, because a check links nothing.
lint: $(VENV)/.locked $(VENV)/.tools  ## check format, lints, types, rustdoc's links and the dependencies' licences; FIX=1: format the sources first
	$(if $(FIX),$(CARGO) fmt --all && $(BIN)/ruff check --fix . && $(BIN)/ruff format .)
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path $(ONE_PROGRAM)/Cargo.toml --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict python benches validation examples tests/repo
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	CUSTOM_LIBFUZZER_PATH=not-linked/libfuzzer.a $(CARGO) check --manifest-path fuzz/Cargo.toml --target-dir target --locked
	$(CARGO) clippy --manifest-path $(ONE_PROGRAM)/Cargo.toml --target-dir target/one-program --all-targets --locked -- -D warnings
	@if ! command -v cargo-deny >/dev/null; then \
		echo "skipped: licences and advisories of crates (cargo install --locked cargo-deny)"; \
	else \
		$(CARGO) deny --offline check licenses bans sources && \
		if $(CARGO) deny fetch db >/dev/null 2>&1; then $(CARGO) deny check advisories; \
		else echo "skipped: advisories of crates: the database of RustSec cannot be fetched"; fi; \
	fi
	@if ! command -v pip-audit >/dev/null; then \
		echo "skipped: known vulnerabilities of Python packages (pip install pip-audit)"; \
	else pip-audit --disable-pip --require-hashes --requirement requirements.lock; fi

wheel: $(VENV)/.locked $(VENV)/.tools $(WHEEL_DOCS)  ## build the wheel for every Python from 3.10 on, into dist/; PGO=1: guided by profiles of runs
	$(BIN)/maturin build --release --locked --strip --out dist $(if $(PGO),--pgo)

# The documentation goes into the wheel, which installs it as share/doc/fairport.
# a folder that `maturin` takes as it is: the documentation, made anew
$(WHEEL_DOCS):
	rm -rf $@ && mkdir -p $@ && cp -R docs/. $@

attack: $(VENV)/.built  ## attack the command line with bad input and damaged files: ARGS="--seconds 600 --seed 5"
	$(BIN)/python -m validation attack $(ARGS)

mutants: $(VENV)/.built  ## change the code and see which changes no test notices (hours); a sample, with cargo-mutants and cosmic-ray; ARGS="--rust all"
	$(BIN)/python -m validation mutants $(ARGS)

bench: $(VENV)/.built  ## measure speed and memory here; CASE=million-flows: a million flows on k = 8
	$(BIN)/python -m benches $(CASE) $(ARGS)

validate: $(VENV)/.built  ## compare with other simulators and papers: CASE=dumbbell and others; lists them without CASE
	$(BIN)/python -m validation $(CASE) $(ARGS)

kernel-diff: $(VENV)/.built  ## replay random exchanges of linux-6 against this machine's kernel, where packetdrill can be built
	$(BIN)/python -m validation kernel-diff $(ARGS)

renew-docs = $(BIN)/python tests/repo/documents.py
renew-fingerprints = $(BIN)/python tests/repo/fingerprints.py "$(WHY)"
define renew-lock
$(CARGO) update
$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.10 --generate-hashes --no-header \
	--no-emit-index-url --no-emit-find-links pyproject.toml --group dev --output-file requirements.lock
endef

# New lock files must not need an engine that the old ones build.
renew: $(VENV)/$(if $(filter lock,$(WHAT)),.locked,.built)  ## renew on purpose: WHAT=docs; WHAT=fingerprints WHY="what moved them"; WHAT=lock
	$(or $(renew-$(WHAT)),$(error say what to renew: WHAT=docs, WHAT=fingerprints or WHAT=lock))

clean:  ## remove what was built; results stay
	rm -rf $(VENV) dist target .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find python tests benches validation -name __pycache__ -prune -exec rm -rf {} +
	rm -f python/fairport/_core*.so

# --- set-up, one stamp per step -------------------------------------------------------------------------------------------

$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null || { \
		echo "error: \`$(PYTHON)\` was not found. Install Python 3.10 or later, or name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
		echo "error: \`$(PYTHON)\` is older than Python 3.10. Name a later one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "error: \`$(PYTHON)\` cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.tools: $(VENV)/.created
	@command -v $(CARGO) >/dev/null || { \
		echo "error: \`$(CARGO)\` was not found. Install a Rust toolchain with rustup, see rust-toolchain.toml" >&2; exit 1; }
	@touch $@

# uv installs in a tenth of pip's time. Only pip reads pip's settings, so pip installs where uv finds no packages.
# A module is compiled when it is first imported, and most are never.
$(VENV)/.locked: requirements.lock $(VENV)/.created
	sed -n '/^uv==/,/[^\\]$$/p' $< >$(VENV)/uv.lock
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes -r $(VENV)/uv.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $< || \
		$(BIN)/python -m pip install --quiet --no-compile --require-hashes -r $<
	@touch $@

$(VENV)/.built: $(RUST_SOURCES) $(VENV)/.locked $(VENV)/.tools
	@echo "building the engine in release mode (a minute or two on a new machine)"
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
