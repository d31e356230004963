#!/usr/bin/env bash
# Measure the product against baselines of the same run; prints figures, judges nothing. See docs/explanation/performance.md.
set -euo pipefail
cd "$(dirname "$0")/.."
exec .venv/bin/python -m benchmarks "$@"
