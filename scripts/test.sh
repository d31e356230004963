#!/usr/bin/env bash
# Run the whole test suite; extra words go to pytest (scripts/test.sh -k audit). The tests make a data folder of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONDONTWRITEBYTECODE=1
exec .venv/bin/python -m pytest tests "$@"
