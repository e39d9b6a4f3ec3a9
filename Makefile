# Every target sets up what it needs and redoes nothing that is up to date: a virtual environment in $(VENV), the
# dependencies of requirements.lock in it, and the engine built in release mode. `make help` lists the targets.

PYTHON ?= python3
VENV ?= .venv
CARGO ?= cargo
BIN := $(VENV)/bin

# What the extension is built from; the Python front is installed editable and needs no rebuild.
RUST_SOURCES := $(shell find crates -name '*.rs' -path '*/src/*') $(wildcard crates/*/Cargo.toml) \
	Cargo.toml Cargo.lock rust-toolchain.toml pyproject.toml

.PHONY: help demo test test-rust test-python lint format wheel bench bench-scale validate lee2017 proportions equal-length mice queues sensitivity clocks fixes docs \
	fingerprints public-scripts lock clean
.DELETE_ON_ERROR:

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 22

# The demo overwrites its own folder only: one that a user has put at results/outcast stays, and the demo steps aside.
demo: $(VENV)/.built  ## run the first scenario, `outcast`, and say where its report lies
	@out=results/outcast; \
	if [ -e $$out ] && [ ! -e $$out/.demo ]; then out=results/demo; fi; \
	$(BIN)/fairport run outcast --out $$out --force && touch $$out/.demo && \
	echo "The report: $$out/report.html"

test: test-rust test-python  ## run every test, Rust and Python

test-rust: $(VENV)/.tools
	$(CARGO) test --workspace --locked

test-python: $(VENV)/.built
	$(BIN)/python -m pytest tests

lint: $(VENV)/.built  ## check format, lints and types, Rust and Python
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict python benches examples tests/repo

format:  $(VENV)/.locked  ## put Rust and Python sources into the standard format
	$(CARGO) fmt --all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: $(VENV)/.locked $(VENV)/.tools  ## build the wheel for every Python from 3.10 on, into dist/
	$(BIN)/maturin build --release --locked --out dist

bench: $(VENV)/.built  ## measure speed and memory here, beside ns-3 where it can be installed
	$(BIN)/python benches/run.py

bench-scale: $(VENV)/.built  ## measure a million flows on a fat-tree of k = 8; takes a while
	$(BIN)/python benches/scale.py

validate: $(VENV)/.built  ## the same dumbbell in Fairport and in ns-3, where that can be installed
	$(BIN)/python benches/validate.py

lee2017: $(VENV)/.built  ## the claims of Lee et al. that differ, in ns-3 as well, where that can be installed
	$(BIN)/python benches/lee2017.py

proportions: $(VENV)/.built  ## 1 : 12 to 30 : 360 flows in ns-3 as well, where that can be installed
	$(BIN)/python benches/proportions.py

equal-length: $(VENV)/.built  ## drop runs with equal-length routing in ns-3 as well, where that can be installed
	$(BIN)/python benches/equal_length.py

mice: $(VENV)/.built  ## short transfers among long ones in ns-2 and ns-3 as well, where they can be had
	$(BIN)/python benches/mice.py

queues: $(VENV)/.built  ## RED and SFQ in ns-2 as well, where it is installed
	$(BIN)/python benches/queues.py

sensitivity: $(VENV)/.built  ## renew the table in docs/model.md: what each lever does to the result
	$(BIN)/python benches/sensitivity.py

clocks: $(VENV)/.built  ## renew the tables in docs/model.md of many flows and the clocks of their ports
	$(BIN)/python benches/clocks.py

fixes: $(VENV)/.built  ## renew the fixes' tables in docs/compare.md and docs/validation.md
	$(BIN)/python benches/fixes.py

docs: $(VENV)/.built  ## renew the outputs and the picture that README.md and docs/ show
	$(BIN)/python tests/repo/documents.py

fingerprints: $(VENV)/.built  ## renew the table of fingerprints, after a change of the model
	$(BIN)/python tests/repo/fingerprints.py

SUBJECTS := slow_start cubic fast_recovery fast_retransmit sack limited_transmit cwnd_moderation nagle ecn ts_recent eor \
	tcp_info mss
public-scripts: $(VENV)/.built  ## run the public packetdrill scripts for Linux below SCRIPTS (docs/drill.md)
	$(BIN)/fairport script --quiet $(addprefix $(SCRIPTS)/,$(SUBJECTS)) || test $$? = 1

lock: $(VENV)/.locked  ## renew Cargo.lock and requirements.lock on purpose
	$(CARGO) update
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.10 --generate-hashes --no-header \
		--no-emit-index-url --no-emit-find-links pyproject.toml --group dev --output-file requirements.lock

clean:  ## remove what was built; results stay
	rm -rf $(VENV) dist target .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find python tests benches -name __pycache__ -prune -exec rm -rf {} +
	rm -f python/fairport/_core*.so

# --- set-up, a stamp a step -------------------------------------------------------------------------------------------

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

$(VENV)/.locked: requirements.lock $(VENV)/.created
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.built: $(RUST_SOURCES) $(VENV)/.locked $(VENV)/.tools
	@echo "building the engine in release mode (a minute or two on a new machine)"
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
