"""What is known of the failures in a test report: the kind of error and the place in the project's own code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agents.languages.base import Language
from agents.languages.problems import Problem
from agents.repair.signature import error_kind
from agents.repair.traces import read_problems

_AT_PLACE = re.compile(r"^[^\s:]{1,400}:\d{1,9}: ", re.MULTILINE)
MOST_PLACES = 5  # named in a prompt; the traces follow whole


def problem_of(failure: Mapping[str, Any], language: Language) -> Problem:
    """One failure of a report ({nodeid, message, traceback}) as far as its trace can be read."""
    text = str(failure.get("traceback") or failure.get("message") or "")
    test = str(failure.get("nodeid") or "")
    found = language.read_failure(test, text)
    # "calc.py:7: SyntaxError: …" is what is said of code that does not compile.
    return found if found.kind != "Failure" else replace(found, kind=error_kind(_AT_PLACE.sub("", text)))


def problems_of(report: Mapping[str, Any], language: Language) -> list[Problem]:
    """The failures of a report; of a run without a proper result, what its output tells."""
    failures = report.get("failures") or []
    if failures:
        return [problem_of(failure, language) for failure in failures[:20]]
    return list(read_problems(str(report.get("output", ""))))[:20]


def where_text(report: Mapping[str, Any], language: Language) -> str:
    """`Where: shop/cart.py:13 (KeyError)`, one line for each place, most common first; "" when no place is known.

    A line of a test is no such place: the trace below shows it. Nor is the line at which a test reached its time limit:
    any of the functions on the way to it may hold the loop, or the test itself.
    """
    places: dict[str, int] = {}
    for one in problems_of(report, language):
        if (
            one.place
            and one.kind != "TimeLimitError"
            and not language.is_test(one.place.rpartition(":")[0] or one.place)
        ):
            line = f"{one.place} ({one.kind})"
            places[line] = places.get(line, 0) + 1
    ranked = sorted(places.items(), key=lambda item: -item[1])
    lines = [f"Where: {line}" + (f", {count} tests" if count > 1 else "") for line, count in ranked[:MOST_PLACES]]
    if len(ranked) > MOST_PLACES:
        lines.append(f"Where: and {len(ranked) - MOST_PLACES} more places")
    return "\n".join(lines)
