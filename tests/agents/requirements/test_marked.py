"""Small documents whose lines are marked with what a reader finds in them.

`+` a requirement begins here, `x` an exclusion, `?` an open question, `.` part of a requirement or optional. All other
lines ask for nothing. The samples of a family stand in one file, the first line of each says what it shows.
"""

from pathlib import Path

import pytest

from agents.requirements.extract import extract
from tests.tables import each_row

FILES = sorted((Path(__file__).parent / "marked").glob("*.txt"))
SAMPLES = [
    pytest.param(sample.strip("\n"), id=f"{file.stem}-{sample.strip().splitlines()[0]}")
    for file in FILES
    for sample in file.read_text("utf-8").split("\n====\n")
]


@each_row("sample", SAMPLES)
def test_a_marked_document_is_read_as_its_marks_say(sample: str) -> None:
    lines = sample.split("\n")[1:]
    answer = extract("\n".join(line[2:] for line in lines))
    marks = {number: line[:1] for number, line in enumerate(lines, start=1)}
    found = dict.fromkeys(marks, " ")
    for requirement in answer.requirements:
        first, last = requirement.lines
        for number in range(first, last + 1):
            if requirement.kind == "non_goal":
                found[number] = "x"
            elif found[number] != "+":
                found[number] = "+" if number == first or marks[number] == "+" else "."
    for question in answer.questions:
        for number in range(question.lines[0], question.lines[1] + 1):
            found[number] = "?" if found[number] == " " else found[number]
    assert _shown(lines, _optional(found, marks)) == _shown(lines, marks)


def _optional(found: dict[int, str], marks: dict[int, str]) -> dict[int, str]:
    return {number: "." if marks[number] == "." and found[number] in "+ " else found[number] for number in marks}


def _shown(lines: list[str], marks: dict[int, str]) -> list[str]:
    return [f"{marks[number]} {line[2:]}" for number, line in enumerate(lines, start=1) if line[2:].strip()]
