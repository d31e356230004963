"""A block that lacks definitions of its file is merged into it, or sent back with what is missing."""

import ast
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.languages.definitions import CannotMerge
from agents.languages.python.definitions import definitions_of, lines_of
from agents.languages.python.merging import merged
from agents.languages.python.text import compiles
from agents.replies.apply import Applied, apply_reply
from agents.replies.keeping import Keeping
from agents.replies.pages import with_sections
from agents.replies.parse import parse_reply
from agents.replies.types import FileBlock, Reply
from tests.sizes import scaled
from tests.tables import each_row

CART = '''"""Carts."""

import json
from typing import overload

RATE = 0.2
# The most that one order holds.
LIMIT = 10


def total(items):
    # Sum first, tax later.
    return sum(items)


# Asked for by the shop.
@json.loads
def taxed(items):
    return total(items) * (1 + RATE)


class Cart:
    """Things to buy."""

    size = 0

    def __init__(self):
        self.items = []

    @property
    def count(self):
        return len(self.items)

    @count.setter
    def count(self, value):
        del self.items[value:]

    def add(self, item):
        self.items.append(item)


try:
    import fast
except ImportError:

    def speed():
        return 1
else:

    def speed():
        return fast.speed


if __name__ == "__main__":
    print(total([1]))
'''


def answer(block: str, keeping: Keeping, *, before: str = CART, path: str = "cart.py") -> Applied:
    return apply_reply(Reply(files=[FileBlock(path, block)]), {path: before}, keeping=keeping)


def after(block: str, **options) -> str:
    applied = answer(block, Keeping(base={"cart.py": options.get("before", CART)}), **options)
    assert not applied.refused
    return applied.files["cart.py"]


def refusal(block: str, keeping: Keeping | None = None) -> str:
    applied = answer(block, keeping or Keeping(base={"cart.py": CART}))
    assert not applied.files
    return applied.refused[0][1]


def test_one_function_instead_of_the_file_replaces_that_function_alone():
    assert after("def total(items):\n    return 2 * sum(items)\n") == CART.replace(
        "    # Sum first, tax later.\n    return sum(items)", "    return 2 * sum(items)"
    )


def test_the_file_keeps_its_line_ends():
    crlf = CART.replace("\n", "\r\n")
    made = after("def total(items):\n    return 2 * sum(items)\n", before=crlf)
    assert "return 2 * sum(items)\r\n" in made
    assert made.replace("\r\n", "\n").count("\n") == made.count("\r\n")


def test_a_method_in_its_class_replaces_that_method_alone():
    block = "class Cart:\n    def add(self, item):\n        self.items.insert(0, item)\n"
    assert after(block) == CART.replace("self.items.append(item)", "self.items.insert(0, item)")


@pytest.mark.parametrize("indent", ["", "    "])
def test_a_method_without_its_class_goes_into_the_one_class_that_has_it(indent):
    block = textwrap.indent("def add(self, item):\n    self.items.insert(0, item)\n", indent)
    assert after(block) == CART.replace("self.items.append(item)", "self.items.insert(0, item)")
    twice = CART.replace("\nif __name__", "\nclass Box:\n    def add(self, item):\n        pass\n\n\nif __name__")
    assert answer(block, Keeping(base={"cart.py": twice}), before=twice).refused


def test_a_setter_is_told_from_its_getter():
    block = "class Cart:\n    @count.setter\n    def count(self, value):\n        self.items.clear()\n"
    assert after(block) == CART.replace("del self.items[value:]", "self.items.clear()")


def test_new_definitions_stand_beside_their_neighbours_and_imports_at_the_top():
    block = (
        "import math\nfrom typing import Any, overload\n\ndef total(items):\n    return math.fsum(items)\n\n"
        "def mean(items: Any):\n    return total(items) / len(items)\n"
    )
    made = after(block)
    assert "from typing import overload\nimport math\nfrom typing import Any\n\nRATE" in made
    assert made.index("def total") < made.index("def mean") < made.index("# Asked for by the shop.")
    assert made.count("import overload") == 1


def test_a_block_of_new_definitions_alone_is_added_before_the_program():
    made = after("def half(items):\n    return total(items) / 2\n")
    assert made.replace("\n\ndef half(items):\n    return total(items) / 2\n", "", 1) == CART
    assert made.index("def half") < made.index("if __name__")


def test_a_method_goes_into_a_class_of_one_line():
    before = "class Empty: ...\n\n\ndef total(items):\n    return sum(items)\n"
    block = "class Empty:\n    def add(self, item):\n        return total([item])\n"
    assert after(block, before=before) == before.replace("class Empty: ...\n", block)


@pytest.mark.parametrize(
    "test", ["def test_taxed(cls):\n", '@pytest.mark.parametrize("self, tax", [(1, 2)])\ndef test_taxed(self, tax):\n']
)
def test_a_test_with_an_argument_called_as_that_of_a_method_is_a_function(test):
    before = "import pytest\n\n\ndef test_total():\n    assert pytest\n"
    assert merged("test_cart.py", before, f"{test}    assert True\n") == f"{before}\n\n{test}    assert True\n"


@pytest.mark.parametrize("above", ["import json\n\n", "from __future__ import annotations\n\n", ""])
def test_an_import_stands_above_relative_ones(above):
    before = f"{above}from .money import Money\n\n\ndef total(items):\n    return Money(items)\n"
    made = merged("shop/cart.py", before, "import math\n\n\ndef total(items):\n    return math.fsum(items)\n")
    assert made.startswith(
        f"{above.rstrip()}\nimport math\n\nfrom .money" if "json" in above else f"{above}import math\n"
    )
    assert made.index("import math") < made.index("from .money")


def test_a_new_class_beside_a_constant_stands_below_the_imports_that_it_needs():
    before = '__all__ = ("A",)\n\n__version__ = "1"\n\nimport collections\n\n\nclass A:\n    pass\n'
    block = '__all__ = ("A", "B")\n\n\nclass B(collections.namedtuple("B", "x")):\n    """Named."""\n'
    made = merged("cart.py", before, block)
    assert made.index("import collections") < made.index("class B(") < made.index("class A:")
    assert made.startswith('__all__ = ("A", "B")\n')


def test_a_new_class_stands_above_what_needs_it_as_a_base_or_a_default():
    block = (
        "def taxed(items):\n    return total(items)\n\n\nclass Empty:\n    pass\n\n\n"
        "def total(items=Empty):\n    return sum(items)\n"
    )
    made = merged("cart.py", CART, block)
    assert "class Empty:\n    pass\n\n\ndef total(items=Empty)" in made
    assert made.index("class Empty") < made.index("def taxed")


@each_row(
    ("block", "why"),
    [
        ("def speed():\n    return total([2])\n", "speed is defined under a condition"),
        ("def take(self, item):\n    return total(self.items)\n", "take looks like a method"),
        ("class Cart(dict):\n    def add(self, item):\n        total([])\n", "class Cart has another head and lacks"),
        ("def total(items):\n    return RATE\n\nprint(total([]))\n", "code outside of definitions"),
        ("from other import json\n\ndef total(items):\n    return RATE\n", "imports json from elsewhere"),
        ("def LIMIT():\n    return RATE\n", "LIMIT is not a function"),
    ],
)
def test_what_is_not_clear_is_sent_back_with_what_is_missing(block, why):
    reason = refusal(block)
    assert why in reason
    assert "The block lacks" in reason
    assert "SEARCH/REPLACE" in reason


def test_overloads_stay_with_a_body_of_the_same_signature_and_are_sent_back_with_another():
    old = "from typing import overload\n@overload\ndef f(a: int) -> int: ...\n@overload\ndef f(a: str) -> str: ...\n"
    old += "def f(a):\n    return a\n\n\ndef g():\n    return f(1)\n"
    with pytest.raises(CannotMerge, match="2 overloads"):
        merged("a.py", old, "def f(a, b=None):\n    return [a]\n")
    assert merged("a.py", old, "def f(a):\n    return g\n") == old.replace("return a\n", "return g\n")
    both = old.partition("def g")[0].replace("return a", "return [a]")
    assert merged("a.py", old, both) == old.replace("return a\n", "return [a]\n")


def test_definitions_that_the_task_removes_may_go():
    block = CART.replace("def taxed(items):\n    return total(items) * (1 + RATE)\n", "").replace("@json.loads\n", "")
    applied = answer(block, Keeping(base={"cart.py": CART}, may_go=lambda name: name == "taxed"))
    assert applied.files == {"cart.py": block}


def test_a_definition_that_moves_to_another_file_of_the_reply_may_go():
    block = CART.replace("@json.loads\ndef taxed(items):\n    return total(items) * (1 + RATE)\n", "")
    reply = Reply(files=[FileBlock("cart.py", block), FileBlock("tax.py", "def taxed(items):\n    return items\n")])
    assert apply_reply(reply, {"cart.py": CART}, keeping=Keeping(base={"cart.py": CART})).files["cart.py"] == block


def test_a_whole_file_without_a_definition_is_sent_back_once_and_then_kept_as_a_removal():
    block = CART.replace("@json.loads\ndef taxed(items):\n    return total(items) * (1 + RATE)\n", "")
    keeping = Keeping(base={"cart.py": CART})
    assert "The block lacks taxed, which the task does not remove" in refusal(block, keeping)
    assert answer(block, keeping).files == {"cart.py": block}
    assert keeping.removed == {"cart.py": ["taxed"]}


def test_a_part_that_uses_the_rest_of_the_file_is_never_kept_as_a_removal():
    keeping = Keeping(base={"cart.py": CART})
    for _ in range(3):
        assert "condition" in refusal("def speed():\n    return total([2])\n", keeping)


def test_what_the_task_itself_wrote_may_be_taken_back():
    applied = answer("def other():\n    return 1\n", Keeping(base={}))
    assert applied.files == {"cart.py": "def other():\n    return 1\n"}


def test_a_broken_version_of_the_task_does_not_hide_what_was_there():
    keeping = Keeping(base={"cart.py": CART})
    applied = answer("def total(items):\n    return 7\n", keeping, before="def total(items:\n")
    assert "class Cart" in applied.files["cart.py"]


def test_most_of_a_long_text_does_not_go_at_once():
    notes = "".join(f"line {row}\n" for row in range(100))
    keeping = Keeping(base={"notes.md": notes})
    applied = answer("line 1\n", keeping, before=notes, path="notes.md")
    assert "lacks 99 of 100 lines" in applied.refused[0][1]
    assert answer("line 1\n", keeping, before=notes, path="notes.md").files
    assert keeping.removed == {"notes.md": ["99 of 100 lines"]}


def test_the_whole_file_is_exactly_the_reply():
    block = CART.replace("LIMIT = 10", "LIMIT = 11").replace("# Sum first, tax later.", "# No tax.")
    assert after(block) == block


MODULES = [ast.__file__, *(str(Path(ast.__file__).with_name(f"{name}.py")) for name in ("enum", "typing", "functools"))]
BODIES = st.sampled_from(
    ["    return 1\n", "    x = {1: 2}\n    return x[1]\n", '    """Say."""\n    raise ValueError\n']
)


@given(st.data())
@settings(max_examples=scaled(60, 5))
def test_definitions_that_the_block_does_not_name_stay_byte_for_byte(data):
    source = Path(data.draw(st.sampled_from(MODULES))).read_text("utf-8")
    if data.draw(st.booleans()):
        source = source.replace("\n", "\r\n")
    lines = lines_of(source)
    spans = definitions_of("m.py", source) or []
    top = [one for one in spans if "." not in one.name and not one.conditional]
    twice = {one.name for one in top if [other.name for other in spans].count(one.name) > 1}
    functions = [one for one in top if one.kind == "function" and one.name not in twice]
    chosen = data.draw(st.lists(st.sampled_from(functions), min_size=1, max_size=3, unique_by=lambda one: one.name))
    block = "\n\n".join(f"def {one.name}(*a, **k):\n{data.draw(BODIES)}" for one in chosen)
    new = data.draw(st.sampled_from(["", "\n\ndef brand_new_one():\n    return 2\n"]))
    made = merged("m.py", source, block + new)
    assert compiles(made)
    after_lines = lines_of(made)
    spans_after = {(one.name, one.kind, one.role, one.ordinal): one for one in definitions_of("m.py", made) or []}
    names = {one.name for one in chosen}
    for one in spans:
        there = spans_after[one.name, one.kind, one.role, one.ordinal]
        same = lines[one.first - 1 : one.last] == after_lines[there.first - 1 : there.last]
        assert same or one.name in names
    assert len(spans_after) - len(spans) == bool(new)


@given(st.sampled_from(MODULES))
@settings(max_examples=4)
def test_merging_a_file_into_itself_changes_nothing(path):
    source = Path(path).read_text("utf-8")
    assert (
        apply_reply(Reply(files=[FileBlock("m.py", source)]), {"m.py": source}, keeping=Keeping(base={"m.py": source}))
        == Applied()
    )


def test_a_definition_below_the_edits_of_a_fence_is_added_too():
    edit = "<<<<<<< SEARCH\nRATE = 0.2\n=======\nRATE = 0.3\n>>>>>>> REPLACE\n"
    for beside, there in (("\ndef free(items):\n    return 0\n", True), ("And that is all.\n", False)):
        reply = parse_reply(f"Here.\n\n```python path=cart.py\n{edit}{beside}```\n")
        made = apply_reply(reply, {"cart.py": CART}, keeping=Keeping(base={"cart.py": CART})).files["cart.py"]
        assert made.startswith(CART[:60].replace("0.2", "0.3"))
        assert ("def free(items)" in made) is there
        assert "that is all" not in made


PAGE = "# Sums\n\nAdds.\n\n## Install\n\n```\n# from source\n```\n\n"
PAGE += "## Use\n\nAs it was.\n\n### Limits\n\nNone.\n\n## Licence\n\nMIT"


@pytest.mark.parametrize(
    ("part", "before", "now"),
    [
        ("## Use\n\nAs it is.\n", "As it was.", "As it is."),
        ("# Sums\n\n## Licence\n\nBSD\n", "MIT", "BSD"),
        ("## Use\n\n## Help\n\nAsk.\n", "## Licence", "## Help\n\nAsk.\n\n## Licence"),
        ("## Help\n\nAsk.\n", "MIT", "MIT\n\n## Help\n\nAsk.\n"),
    ],
)
def test_of_a_page_a_reply_with_some_sections_changes_those_alone(part, before, now):
    applied = answer(part, Keeping(base={"README.md": PAGE}), before=PAGE, path="README.md")
    assert applied.files["README.md"] == PAGE.replace(before, now)


@pytest.mark.parametrize(
    "page",
    [
        "# Sums\n\n## Start\n\nNew.\n\n## Use\n\nNew.\n\n## Why\n\n## Who\n",
        "# Adding\n\nAll new.\n",
        PAGE.replace("## Use", "## Usage"),
        "No heading.\n",
    ],
)
def test_a_page_of_its_own_takes_the_place_of_the_old_one(page):
    assert with_sections(PAGE, page) == page
