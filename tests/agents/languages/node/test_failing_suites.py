"""What twenty failing suites report in real runs names the file, line and kind; the cause makes the signature.

`record_suites` made the recordings with the sandbox's own runners.
"""

import json
from pathlib import Path

from agents.languages.registry import language
from agents.repair.signature import signature_of
from tests.agents.languages.node.failing_suites import SUITES
from tests.tables import each_row

RECORDED = json.loads((Path(__file__).with_name("data") / "failing_suites.json").read_text(encoding="utf-8"))


@each_row("name", list(SUITES))
def test_the_first_failure_names_its_place_and_kind(name: str) -> None:
    (failure, *_) = RECORDED[name]["first"]
    found = language("node").read_failure(failure["nodeid"], failure["traceback"])
    assert (found.kind, found.place) == (SUITES[name].kind, SUITES[name].place)
    assert failure["nodeid"].partition("::")[0] in SUITES[name].files


@each_row("name", list(SUITES))
def test_the_same_cause_has_the_same_signature_at_other_lines_and_another_cause_has_not(name: str) -> None:
    first, moved, other = (signature_of({"failures": RECORDED[name][kind]}) for kind in ("first", "moved", "other"))
    assert first == moved
    assert first != other
