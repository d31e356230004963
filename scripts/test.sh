#!/usr/bin/env bash
# Run the whole test suite, two files at a time. Words go to pytest, which then runs one test at a time:
# scripts/test.sh -k audit. The tests make a data folder of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
unset PYTHONDONTWRITEBYTECODE  # hundreds of processes are started; each would compile everything again
[ $# -gt 0 ] || set -- -n 2 --dist loadscope --no-loadscope-reorder
exec .venv/bin/python -m pytest tests "$@"
