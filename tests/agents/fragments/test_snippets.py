"""Code out of replies: what models put around it is taken off, what is not the fragment is refused with a reason."""

import pytest

from agents.fragments.snippets import UnusableCode, logic_problem, read_code, renamed, same_code, ui_problem
from tests.agents.fragments import crm
from tests.tables import each_row

TAX = crm.LOGIC["calculate_tax"]
HELPERS = f'''from __future__ import annotations
import math

CENTS = 2  # digits

class Rounder:
    """Rounds."""
    def at(self, value):
        return round(value, CENTS)

# rounds once more
def helper(value):
    return Rounder().at(value)

{TAX}
print(calculate_tax("1", 2.0))

if __name__ == "__main__":
    print("done")
'''


@each_row(
    "reply",
    [
        TAX,
        crm.fenced(TAX),
        f"```\n{TAX}```",
        f"```py\n{TAX}",
        f"Sure! Here it is:\n\n{TAX}\nThis works because floats are parsed.",
        f"<think>def calculate_tax(): pass</think>\n```python\n{TAX}```",
        f"```bash\npip install x\n```\n\n```python\n{TAX}```",
        f"First try:\n```python\ndef calculate_tax(amount, rate:\n```\nBetter:\n```python\n{TAX}```",
    ],
)
def test_the_code_is_found_in_every_dress(reply: str) -> None:
    assert read_code(reply, "calculate_tax") == TAX


def test_helpers_constants_and_classes_stay_and_example_calls_go() -> None:
    code = read_code(crm.fenced(HELPERS), "calculate_tax")
    for word in ("class Rounder", "def helper", "# rounds once more", "CENTS = 2", "import math"):
        assert word in code
    for word in ("print", "__main__", "__future__"):
        assert word not in code


def test_an_import_that_was_plainly_forgotten_is_added() -> None:
    code = read_code("def f(a: Any) -> str:\n    return json.dumps(a)\n", "f")
    assert code.startswith("from typing import Any\nimport json\n")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("I cannot do that.", "defines no function calculate_tax"),
        ("```python\ndef tax(a):\n    return a\n```", "defines no function calculate_tax"),
        ("```python\ndef calculate_tax(amount, rate)\n    return 1\n```", "line 1 does not compile"),
        ("", "defines no function"),
    ],
)
def test_a_reply_without_the_function_is_refused_with_the_reason(reply: str, words: str) -> None:
    with pytest.raises(UnusableCode, match=words):
        read_code(reply, "calculate_tax")


def test_a_reply_that_was_cut_off_says_so() -> None:
    with pytest.raises(UnusableCode, match="cut off"):
        read_code("```python\ndef calculate_tax(amount, ra", "calculate_tax", truncated=True)


@each_row(
    ("code", "words"),
    [
        (TAX, ""),
        (TAX.replace("amount: str, rate", "rate: float, amount"), "the signature stays as it is: def calculate_tax("),
        (TAX.replace("rate: float)", "rate: float, more: int = 0)"), "the signature stays"),
        (TAX.replace("rate: float)", "rate: float, **more: int)"), "the signature stays"),
        (TAX.replace("def ", "async def "), "must be a plain function"),
        (f"import streamlit as st\n{TAX}", "knows no Streamlit"),
        (f"import pandas\n{TAX}", "pandas is not there"),
        (f"from .state import x\n{TAX}", "a relative import is not there"),
        (TAX.replace("float(amount)", "parsed(amount)"), "there is no parsed: return round(parsed(amount) * rate, 2)"),
    ],
)
def test_a_logic_fragment_is_checked_before_it_runs(code: str, words: str) -> None:
    said = logic_problem(code, crm.whole().logic[2], ())
    assert words in said
    assert bool(words) == bool(said)


PAGE = crm.UI["customers"]


@each_row(
    ("code", "words"),
    [
        (PAGE, ""),
        (f"import streamlit as st\nfrom logic import find_customers\n\n{PAGE}", ""),
        (PAGE.replace("()", "(state)", 1), "calls it without arguments"),
        (PAGE.replace("find_customers(", "search("), "there is no search"),
        (f"{PAGE}\n\ndef find_customers(a, b):\n    return a\n", "find_customers is defined already"),
        (PAGE.replace("    words", "    st.set_page_config()\n    words"), "set_page_config is called by the app"),
        (f"import plotly\n{PAGE}", "plotly is not there"),
    ],
)
def test_a_page_is_checked_before_assembly(code: str, words: str) -> None:
    said = ui_problem(code, "render_customers", ["find_customers"], ())
    assert words in said
    assert bool(words) == bool(said)


def test_names_are_replaced_and_attributes_are_not() -> None:
    code = 'def total(a):\n    """total"""\n    return total(a.total) + sum(x.total() for x in a)\n'
    assert renamed(code, {"total": "cart_total"}) == (
        'def cart_total(a):\n    """total"""\n    return cart_total(a.total) + sum(x.total() for x in a)\n'
    )


def test_the_same_code_is_known_again_whatever_its_layout() -> None:
    assert same_code(TAX, TAX.replace("    return", "    # so\n    return"))
    assert not same_code(TAX, crm.BROKEN_TAX)
