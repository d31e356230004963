#!/usr/bin/env bash
# Run the tests, two files at a time: all of them, or with `fast` those that stay in one process. Other arguments go to
# pytest, which then runs one test at a time: scripts/test.sh -k audit. The tests make a data folder of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
unset PYTHONDONTWRITEBYTECODE  # hundreds of processes are started; each would compile everything again
parallel=(-n 2 --dist loadscope --no-loadscope-reorder)
if [ $# = 0 ]; then
    .venv/bin/python -m pytest tests "${parallel[@]}" -m "not networks"
    # By themselves: a browser aborts what it loads whenever the machine gets another network.
    exec .venv/bin/python -m pytest tests/sandbox -m networks
elif [ "$*" = fast ]; then set -- "${parallel[@]}" -q -m fast; fi
exec .venv/bin/python -m pytest tests "$@"
