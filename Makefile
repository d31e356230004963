# One target per task; all are idempotent. Needs make and git; everything else is installed or named.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help install install-dev run demo doctor check test stages lint soak bench screenshots notices bill clean
PY := .venv/bin/python

help:            ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

install:         ## install what the product needs, from locked and hashed packages
	@bash scripts/install.sh

install-dev: install   ## install what developing and testing needs too
	@bash scripts/install.sh dev

run: install     ## serve the dashboard on port 8000 (aiswe up)
	@exec .venv/bin/aiswe up

demo: install    ## watch a recorded model build a real program
	@exec .venv/bin/aiswe demo

doctor: install  ## report what is installed, what is missing, and how to get it
	@.venv/bin/aiswe doctor

check: lint      ## lint and the fast tests, for every change: under three minutes on two cores
	@bash scripts/test.sh fast

test: install-dev   ## the tests, for every merge; prints what costs most and fails over its budget of CPU
	@bash scripts/test.sh

stages: install-dev ## what takes long: images, kills, skeletons, the trial, large inputs; .ci/run runs it after make test
	@bash scripts/test.sh stages

lint: install-dev   ## style, format, types, imports between rooms, licences, the walls of house.toml
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/djlint --lint --quiet templates
	@.venv/bin/djlint --check --quiet templates
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@.venv/bin/python -m scripts.house
	@.venv/bin/python scripts/licences.py check

soak: install-dev   ## kill git and its worker 150 times at random points of merges
	@SOAK_SEEDS=150 nice .venv/bin/python -m pytest -q tests/agents/workspace/test_kills.py

bench: install-dev  ## measure, and print the figures with their meaning
	@.venv/bin/python -m measure

screenshots: install-dev  ## take the pictures of the README from a running demo; needs Chromium
	@.venv/bin/python scripts/screenshots.py

notices: install ## write THIRD_PARTY_NOTICES: every package with its licence and its texts
	@.venv/bin/python scripts/licences.py notices THIRD_PARTY_NOTICES

bill: install    ## write aiswe.cdx.json: the bill of materials of this release, in CycloneDX
	@.venv/bin/python scripts/licences.py bill aiswe.cdx.json

clean:           ## remove the environments and caches; never your data (.aiswe)
	rm -rf .venv .venv-semgrep .venv-sandbox .venv-sandbox-node .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache test-artifacts
	find . -name __pycache__ -type d -not -path './.aiswe/*' -prune -exec rm -rf {} +
