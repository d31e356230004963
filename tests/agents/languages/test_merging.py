"""A part of a file goes into the file by the same rules in every language."""

import pytest

from agents.languages.definitions import CannotMerge
from agents.languages.registry import language_of

PYTHON = ("calc.py", "def {0}():\n    return {1}\n", "{0} = {1}()\n")
NODE = ("calc.js", "function {0}() {{\n  return {1};\n}}\n", "const {0} = {1}();\n")
every_language = pytest.mark.parametrize(("path", "function", "value"), [PYTHON, NODE], ids=["python", "node"])


def names_in_order(path: str, old: str, part: str) -> list[str]:
    text = language_of(path).merged(path, old, part)
    return [one.name for one in language_of(path).definitions(path, text)]


@every_language
def test_what_is_replaced_stays_in_its_place_and_what_is_new_follows_its_neighbour(path, function, value):
    old = "\n\n".join(function.format(name, 1) for name in ("add", "sub", "mul"))
    part = "\n\n".join(function.format(name, 2) for name in ("first", "sub", "after"))
    assert names_in_order(path, old, part) == ["add", "first", "sub", "after", "mul"]


@every_language
def test_what_another_statement_needs_when_it_is_run_stands_before_it(path, function, value):
    old = "\n\n".join([function.format("add", 1), value.format("total", "add"), function.format("sub", 1)])
    part = "\n\n".join([value.format("total", "base"), function.format("sub", 2), function.format("base", 3)])
    assert names_in_order(path, old, part) == ["add", "base", "total", "sub"]


@every_language
def test_of_several_unclear_names_the_first_in_the_part_is_reported(path, function, value):
    old = "\n\n".join(function.format(name, 1) for name in ("add", "sub", "mul"))
    part = "\n\n".join(function.format(name, 2) for name in ("mul", "add", "mul", "add"))
    with pytest.raises(CannotMerge, match=r"^mul is defined 1 times in the file and 2 times in the block"):
        language_of(path).merged(path, old, part)


@every_language
def test_a_part_that_speaks_of_nothing_in_the_file_goes_to_its_end(path, function, value):
    old = "\n\n".join(function.format(name, 1) for name in ("add", "sub"))
    assert names_in_order(path, old, function.format("mul", 2)) == ["add", "sub", "mul"]
