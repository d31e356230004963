#!/usr/bin/env bash
# Run the tests, two files at a time: all of `make test`, with `fast` those that stay in one process, with `stages` what
# continuous integration runs after `make test`. Other arguments go to pytest, which then runs one test at a time:
# scripts/test.sh -k audit. The tests make a data folder of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
unset PYTHONDONTWRITEBYTECODE  # hundreds of processes are started; each would compile everything again
pytest() { .venv/bin/python -m pytest "$@"; }
parallel=(-n 2 --dist loadscope --no-loadscope-reorder)
case "$*" in
    '')
        pytest tests "${parallel[@]}" -m 'not networks and not stage' --budget test
        # By themselves: a browser aborts what it loads whenever the machine gets another network.
        pytest tests/sandbox -m 'networks and not stage' --budget networks
        ;;
    fast) pytest tests "${parallel[@]}" -q -m fast ;;
    # Images, kills, skeletons and the trial; then what `make test` tries small, in its full size.
    stages) AISWE_WHOLE_TESTS=1 pytest tests "${parallel[@]}" -m 'stage or whole' ;;
    *) pytest tests "$@" ;;
esac
