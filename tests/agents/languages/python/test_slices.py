"""The text behind a line changes with what flows into the line, and with nothing else."""

import ast

import pytest

from agents.languages.python.slices import MOST_STATEMENTS, Slices

PROGRAM = '''\
import os
from app import settings

LIMIT = 10


def clean(text):
    """Only letters."""
    return "".join(filter(str.isalpha, text))


def check(folder):
    return folder in settings.FOLDERS


class Job:
    def __init__(self, name):
        self.name = clean(name)
        self.color = "red"

    def start(self, folder, options):
        if not check(folder):
            raise ValueError(folder)
        command = ["tool"]
        command.append(self.name)
        shown = len(command)
        os.system(" ".join(command) + folder)  # here
        return shown

    def paint(self):
        return self.color


def main(arguments):
    Job("x").start(arguments.folder, None)
    print(LIMIT)
'''


def behind(program: str) -> str:
    (line,) = (number for number, text in enumerate(program.splitlines(), 1) if "# here" in text)
    return Slices(ast.parse(program)).text(line)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('command = ["tool"]', 'command = ["other"]'),
        ("command.append(self.name)", "command.append(folder)"),
        ("self.name = clean(name)", "self.name = name"),
        ("filter(str.isalpha, text)", "text"),
        ("        if not check(folder):\n            raise ValueError(folder)\n", ""),
        ("raise ValueError(folder)", "pass"),
        ("in settings.FOLDERS", "in settings.OTHER"),
        ("from app import settings", "from other import settings"),
        ("start(arguments.folder, None)", "start(input(), None)"),
        ("def start(self, folder, options)", "def start(self, folder=input(), options=None)"),
        ("    def start(", "    @anybody\n    def start("),
        ("        shown = len", "        command += [input()]\n        shown = len"),
        ("        os.system(", "        command[0] = input()\n        os.system("),
        ("import os", "import fake as os"),
    ],
)
def test_it_changes_with_what_flows_into_the_line(old: str, new: str) -> None:
    assert old in PROGRAM
    assert behind(PROGRAM.replace(old, new)) != behind(PROGRAM)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 10", "LIMIT = 11\n# a remark\nOTHER = 1"),
        ('"""Only letters."""', '"""Letters only, please."""'),
        ('self.color = "red"', 'self.color = "blue"'),
        ("return self.color", "return self.color.upper()"),
        ("return shown", "print(shown)\n        return shown + 1"),
        ("shown = len(command)", "shown = 3"),
        ("print(LIMIT)", "print(LIMIT, 2)"),
        ('["tool"]', "[ 'tool' ]  # as before"),
        ("def main(", "def more():\n    folder = 1\n    return folder\n\n\ndef main("),
    ],
)
def test_it_stays_when_something_else_changes(old: str, new: str) -> None:
    assert old in PROGRAM
    assert behind(PROGRAM.replace(old, new)) == behind(PROGRAM)


def test_a_later_statement_counts_only_inside_a_loop() -> None:
    straight = "a = 1\nrun(a)  # here\na = 2\n"
    assert behind(straight) == behind(straight.replace("a = 2", "a = 3"))
    loop = "a = 1\nfor i in x:\n    run(a)  # here\n    a = 2\n"
    assert behind(loop) != behind(loop.replace("a = 2", "a = 3"))


def test_a_global_of_another_function_counts() -> None:
    program = "a = 1\ndef put(x):\n    global a\n    a = x\ndef go():\n    run(a)  # here\n"
    assert behind(program) != behind(program.replace("    a = x\n", "    a = clean(x)\n"))


def test_methods_that_call_each_other_have_a_text() -> None:
    first = "class A:\n    def f(self, a):\n        self.g(a)\n"
    program = f"{first}    def g(self, a):\n        self.f(a)\n        run(a)  # here\n"
    assert "self.g(a)" in behind(program)
    assert "self.f(a)" in behind(program)


def test_more_than_can_be_followed_is_the_whole_function() -> None:
    lines = "".join(f"    a{n} = a{n - 1}\n" for n in range(1, MOST_STATEMENTS + 9))
    program = f"def f(a0):\n{lines}    run(a{MOST_STATEMENTS + 8})  # here\n    print(1)\n"
    assert behind(program) != behind(program.replace("print(1)", "print(2)"))


@pytest.mark.parametrize(
    "program", ["# here\n", "x = 1\n\n# here\n", "class A:\n    b = c  # here\n", "@f(a)  # here\ndef g():\n    pass\n"]
)
def test_any_line_has_a_text(program: str) -> None:
    assert isinstance(behind(program), str)
