"""The interpreter: runs the expectations below tests/ against the definitions elsewhere in the working folder.

Prints one line of JSON: how many expectations hold, and for each other one its place, what is wrong and the cause.
"""

import json
import operator
import sys
from pathlib import Path

SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def lines_of(tests: bool) -> list:
    """(place, words) of all lines with anything on them."""
    found = []
    for path in sorted(Path().rglob("*.toy")):
        if (path.parts[0] == "tests") is tests:
            rows = enumerate(path.read_text().splitlines(), 1)
            found += [(f"{path}:{number}", line.split()) for number, line in rows if line.strip()]
    return found


def main() -> None:
    """Run all there is."""
    known = {
        words[0]: (place, words[1 : words.index("=")], words[words.index("=") + 1 :])
        for place, words in lines_of(False)
    }
    passed, failures = 0, []
    for place, words in lines_of(True):
        name, given, expected = words[0], words[1:-2], int(words[-1])
        if name not in known:
            failures.append([place, f"UndefinedName: {name}", place])
            continue
        where, names, (left, sign, right) = known[name]
        values = dict(zip(names, map(int, given), strict=True))
        result = SIGNS[sign](values[left], values[right])
        if result == expected:
            passed += 1
        else:
            failures.append([place, f"WrongValue: {' '.join(words[:-2])} is {result}, not {expected}", where])
    sys.stdout.write(json.dumps([passed, failures]))


main()
