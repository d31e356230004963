# One command per wish; each may be repeated at will. Needs make and git; the rest is fetched or named.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help install install-dev run demo doctor test lint bench clean
PY := .venv/bin/python

help:            ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

install:         ## everything the product needs, from locked and hashed packages
	@bash scripts/install.sh

install-dev: install   ## and what developing and testing needs
	@bash scripts/install.sh dev

run: install     ## serve the dashboard on port 8000 and work (aiswe up)
	@exec .venv/bin/aiswe up

demo: install    ## watch a recorded model build a real program
	@exec .venv/bin/aiswe demo

doctor: install  ## what is there, what is missing, how to get it
	@.venv/bin/aiswe doctor

test: install-dev   ## every test; ends with the test runner's summary
	@bash scripts/test.sh

lint: install-dev   ## style, format, types, room borders
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports

bench: install-dev  ## measurements, printed with what they mean
	@bash scripts/bench.sh

clean:           ## remove the environments and caches; never your data (.aiswe)
	rm -rf .venv .venv-semgrep .venv-sandbox .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache test-artifacts
	find . -name __pycache__ -type d -not -path './.aiswe/*' -prune -exec rm -rf {} +
