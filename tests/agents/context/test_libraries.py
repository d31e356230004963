"""What a task's libraries offer is shown before the code is written."""

import json

import pytest

from agents.context.libraries import TOKENS, Libraries
from agents.languages.registry import language
from agents.llm.tokens import count_tokens
from sandbox.base import ExecResult
from sandbox.registry import open_backend
from tests.sandbox.fake_backend import FakeSandbox


def answering(rows):
    calls = []

    class Box(FakeSandbox):
        def exec(self, argv, *, stdin=b"", **options):
            asked = json.loads(stdin)
            calls.append(asked["modules"])
            return ExecResult(tuple(argv), 0, f"{asked['mark']}{json.dumps(rows)}\n", "", 0.1)

    return (lambda: Box(lambda argv: ExecResult(argv, 0, "", "", 0.0))), calls


def test_modules_are_what_is_imported_or_named_and_neither_standard_nor_local_nor_a_test_tool():
    files = {"a.py": "import os, flask, pytest\nfrom shop.cart import add\n"}
    assert language().libraries(files, ["python-dateutil>=2", "argon2-cffi"], ["shop/cart.py"]) == [
        "argon2",
        "dateutil",
        "flask",
    ]


@pytest.mark.bubblewrap
def test_what_the_files_use_comes_first_with_its_signature_and_words():
    with open_backend("bubblewrap").open(label="offers") as box:
        lines = (
            Libraries()
            .signatures(
                language(),
                ["httpx"],
                "stream a response",
                {"a.py": "import httpx\nhttpx.get('x')\n"},
                sandbox=lambda: box,
                scope="",
            )
            .splitlines()
        )
    assert lines[0].startswith("httpx.get(url: ")
    assert lines[0].endswith(": Sends a `GET` request.") or "GET" in lines[0]
    assert any(line.startswith("httpx.stream(") for line in lines[1:])


def test_a_module_is_asked_about_once_and_one_that_is_not_there_says_nothing():
    opened, calls = answering([None])
    libraries = Libraries()
    for _ in range(2):
        assert libraries.signatures(language(), ["nowhere"], "words", {}, sandbox=opened, scope="") == ""
    assert calls == [["nowhere"]]


def test_what_fits_neither_files_nor_task_is_left_out_and_the_room_is_kept():
    rows = [[f"convert_money_{number}", "(amount: int)", "Convert money " + "x" * 150] for number in range(300)]
    opened, _ = answering([[*rows, ["other", "()", "Something else"], ["bad name", "()", ""], 7]])
    shown = Libraries().signatures(language(), ["bank"], "convert money", {}, sandbox=opened, scope="")
    assert 1 <= len(shown.splitlines()) <= 8
    assert "other" not in shown
    assert count_tokens(shown) <= TOKENS


def test_what_fits_by_meaning_alone_is_shown_too():
    rows = [["reimburse", "(order)", "Gives the amount back"], ["open_door", "(key)", "Opens it"], ["sing", "()", ""]]
    opened, _ = answering([rows])

    def near(query, texts):
        return [0.9 if "reimburse" in text else 0.1 for text in texts]

    libraries = Libraries()
    assert libraries.signatures(language(), ["bank"], "refund a customer", {}, sandbox=opened, scope="") == ""
    shown = libraries.signatures(language(), ["bank"], "refund a customer", {}, sandbox=opened, scope="", near=near)
    assert shown == "bank.reimburse(order): Gives the amount back"


def test_what_the_files_use_of_one_module_is_not_displaced_by_what_fits_of_another():
    fits = [
        [f"convert_money_{number}", "(value=<object object at 0x7f2e196c7e10>)", "Money " * 30] for number in range(9)
    ]
    opened, _ = answering([fits, [["draw", "(text)", "Draws it"]]])
    files = {"app.py": "import ui\n\nui.draw('x')\n"}
    shown = Libraries().signatures(language(), ["bank", "ui"], "convert money", files, sandbox=opened, scope="")
    assert shown.splitlines()[-1] == "ui.draw(text): Draws it"
    assert shown.startswith("bank.convert_money_0(value=<object object>)")
    assert count_tokens(shown) <= TOKENS
