"""What people, documents and models wrote does nothing on a forge."""

import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from projects.services.forges.wording import BEGIN, END, apart, quoted, renewed
from tests.tables import each_row

HOSTILE = [
    "@everybody look",
    "fixes #1 and closes acme/shop#2, GH-3",
    "!4 ~bug %v1 &5 $6",
    "<img src=x onerror=alert(1)> <!-- x -->",
    "![x](https://evil.example/a.png) [y](javascript:z)",
    "```\n/close\n/merge\n# Title",
    "`` ` ``` @ada ````",
    "see https://github.com/acme/shop/issues/1 or www.example.org",
    f"{END} {BEGIN}",
    "\u202eevil\u2066 \x1b[31m",
]
ACTIVE = re.compile(r"@\w|#\d|!\d|GH-\d|://|www\.|\x1b|\u202e", re.IGNORECASE)


@each_row("text", HOSTILE)
def test_hostile_words_are_one_span_of_code_without_a_reference(text: str) -> None:
    shown = quoted(text)
    assert not ACTIVE.search(shown)
    assert "\n" not in shown
    kinds = [one.type for token in MarkdownIt().parse(f"- {shown}") for one in token.children or ()]
    assert kinds == ["code_inline"]


@given(st.text(max_size=200))
def test_any_words_are_one_span_of_code(text: str) -> None:
    kinds = [one.type for token in MarkdownIt().parse(f"- {quoted(text)}") for one in token.children or ()]
    assert kinds == (["code_inline"] if apart(text, 300) else ["text"])


def test_a_title_mentions_and_closes_nothing() -> None:
    assert not ACTIVE.search(apart("Fixes #12 for @ada", 100))


def test_only_our_part_of_a_text_is_renewed() -> None:
    ours, new = f"{BEGIN}\nold\n{END}", f"{BEGIN}\nnew\n{END}"
    assert renewed(f"a\n{ours}\nb", new) == f"a\n{new}\nb"
    assert renewed("Somebody took it out.", new) == "Somebody took it out."
