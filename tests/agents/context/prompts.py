"""Prompts as the product writes them, with texts of the tests' choice."""

from typing import Any

from agents.languages.registry import language
from agents.llm.base import Message
from agents.prompts.provenance import Material, Source, as_turn, label, render


def head(*, approach: int = 1, **texts: str) -> list[Message]:
    """System prompt and first message of a coder."""
    first = render(
        "task.head",
        project="shop",
        key="T-01",
        title="Adding",
        description=label(texts.get("description", ""), Source.MODEL),
        files=["calc.py"],
        long=[],
        removable=[],
        tests_go="",
        installed=[],
        servers=[],
        container_files={"docker": False, "kubernetes": False},
        passages=label(texts.get("passages", ""), Source.DOCUMENT),
        requirements=label(texts.get("requirements", ""), Source.DOCUMENT),
        note=Material(" ".join(texts.get("note", "").replace("`", "").split()), ()),
        lessons=label(texts.get("lessons", ""), Source.MODEL),
        existing=label(texts.get("existing", ""), Source.REPOSITORY),
        failing="",
        tests=label(texts.get("tests", ""), Source.MODEL),
        avoid=label(texts.get("avoid", ""), Source.TESTS),
        may_ask=False,
    )
    return [
        as_turn(
            "system",
            render("system.coder", house_rules=texts.get("rules", ""), recipe="", language=language().words),
            persona="coder",
        ),
        as_turn("user", first, task="T-01", approach=approach, step="code"),
    ]


def repair(trace: str, said: str = "") -> Message:
    """The message that shows a failing run."""
    variables: dict[str, Any] = {
        "lessons": "",
        "counts": "1 failed.",
        "trace": label(trace, Source.TESTS),
        "repeated": False,
        "undone": "",
        "unfounded": False,
    }
    turn = as_turn("user", render("task.repair", **variables), step="repair")
    if said:
        turn = {**turn, "content": f"{turn['content'].rstrip()}\n\nA person of the team says:\n- {said}\n"}
    return turn


def again() -> Message:
    """The message after an answer that could not be used."""
    return as_turn("user", render("task.refused", reasons=["no file was found in it"], quoted=""), step="again")
