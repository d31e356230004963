#!/usr/bin/env bash
# Run the whole test suite; extra words go to pytest (scripts/test.sh -k audit).
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

# Tests never touch the data of a running installation.
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export AISWE_HOME="$home" PYTHONDONTWRITEBYTECODE=1

# The browser drives its own event loop, which other asynchronous tests cannot share a process with.
code=0
.venv/bin/python -m pytest tests --ignore=tests/e2e "$@" || code=$?
if compgen -G "tests/e2e/test_*.py" >/dev/null; then
    DJANGO_ALLOW_ASYNC_UNSAFE=true .venv/bin/python -m pytest tests/e2e "$@" || code=$?
fi
exit "$code"
