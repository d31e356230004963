#!/usr/bin/env bash
# Measure what people wait for: the command, the start, the recorded demo. Prints numbers, judges nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
exec .venv/bin/python scripts/bench.py "$@"
