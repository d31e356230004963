"""The text behind a line changes with what flows into the line, and with nothing else."""

import pytest

from agents.languages.python import syntax
from agents.languages.python.slices import MOST_STATEMENTS, Slices
from tests.sizes import growth
from tests.tables import each_row

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
    return Slices(syntax.parse(program)).text(line)


@each_row(
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


@each_row(
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


TABLE = """
def upper(text):
    return Markup(text)  # here


def lower(text):
    return text.lower()


FILTERS = {"upper": upper, "lower": lower}
"""


def test_the_other_functions_of_a_table_do_not_matter_and_a_new_table_does() -> None:
    assert behind(TABLE.replace("text.lower()", "text.casefold()")) == behind(TABLE)
    assert behind(TABLE.replace('"lower": lower', '"lower": str.lower')) == behind(TABLE)
    assert behind(TABLE + "OTHERS = [upper]\n") != behind(TABLE)
    assert behind(TABLE.replace("lower}", "lower, **made(upper, lower)}")) != behind(TABLE)
    assert behind(TABLE + "shown = [use(upper, input())]\n") != behind(TABLE)


def test_a_table_of_very_many_functions_is_read_in_time_that_grows_with_it() -> None:
    def read(functions: int) -> None:
        Slices(syntax.parse(f"TABLE = [{', '.join(f'f{number}' for number in range(functions))}]\n"))

    assert growth(read, 100) < 24


def test_a_function_of_a_module_changes_the_module_where_its_name_says_so() -> None:
    program = "import shop\n\n\ndef first(path):\n    shop.load(path)  # here\n\n\ndef second(words):\n    OTHER\n"
    same = behind(program.replace("OTHER", "pass"))
    assert behind(program.replace("OTHER", "shop.show(words)")) == same
    for change in ("shop.add_loader(words)", "shop.loaders.update(words)", "shop.load = words", "change(shop)"):
        assert behind(program.replace("OTHER", change)) != same, change


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


@each_row(
    ("program", "old", "new"),
    [
        (
            "class C:\n    def cmd(self):\n        return 'ls'\ndef f():\n    c = C()\n"
            "    os.system(c.cmd())  # here\n",
            "'ls'",
            "input()",
        ),
        (
            "class B:\n    def cmd(self):\n        return 'ls'\nclass C(B):\n    def f(self):\n"
            "        os.system(self.cmd())  # here\n",
            "'ls'",
            "input()",
        ),
        ("class C: pass\ndef g():\n    C.c = 'ls'\ndef f():\n    os.system(C.c)  # here\n", "'ls'", "input()"),
        (
            "class C:\n    def __init__(self, c):\n        self.c = c\n    def f(self):\n"
            "        os.system(self.c)  # here\ndef main():\n    C('ls').f()\n",
            "'ls'",
            "input()",
        ),
        ("D = {}\ndef g():\n    D['c'] = 'ls'\ndef f():\n    os.system(D['c'])  # here\n", "'ls'", "input()"),
        (
            "def f(c):\n    try:\n        check(c)\n    except ValueError:\n        return\n    os.system(c)  # here\n",
            "        return",
            "        pass",
        ),
        (
            "c='x'\ndef g():\n    if 1:\n        global c\n        c = 'ls'\ndef f():\n    os.system(c)  # here\n",
            "'ls'",
            "input()",
        ),
        (
            "def f(c):\n    if c!='a':\n        if True:\n            raise ValueError\n    os.system(c)  # here\n",
            "raise ValueError",
            "print()",
        ),
        ("def f():\n    a = []\n    fill(into=a, what='ls')\n    os.system(a[0])  # here\n", "'ls'", "input()"),
        ("def f():\n    a = []\n    y = a.append('ls')\n    os.system(a[0])  # here\n", "'ls'", "input()"),
        ("def f(c):\n    match c:\n        case 'ls':\n            os.system(c)  # here\n", "case 'ls'", "case _"),
        (
            "def f():\n    c = 'ls'\n    def g():\n        nonlocal c\n        c = 'ps'\n    g()\n"
            "    os.system(c)  # here\n",
            "'ps'",
            "input()",
        ),
        (
            "class C:\n    def f(self):\n        os.system(self.c)  # here\ndef g(x):\n    x.c = 'ls'\n",
            "'ls'",
            "input()",
        ),
        ("from safe import *\ndef f(c):\n    run(c)  # here\n", "from safe", "from evil"),
        ("class C:\n    cmd = 'ls'\ndef f():\n    os.system(C.cmd)  # here\n", "'ls'", "input()"),
        (
            "def run(c):\n    os.system(c)  # here\ndef main():\n    Thread(target=run, args=('ls',))\n",
            "'ls'",
            "input()",
        ),
        (
            "def f(c, mode):\n    a = 'ls'\n    if mode == 'safe':\n        a = c\n    os.system(a)  # here\n",
            "mode == 'safe'",
            "mode",
        ),
        ("def f(c):\n    if c != 'a':\n        abort(403)\n    os.system(c)  # here\n", "abort(403)", "log(403)"),
    ],
)
def test_it_follows_classes_names_of_other_scopes_and_what_decides_whether_a_source_runs(
    program: str, old: str, new: str
) -> None:
    assert old in program
    assert behind(program.replace(old, new)) != behind(program)


def test_other_members_of_a_class_do_not_matter() -> None:
    program = "class C:\n    def a(self):\n        return 1\n    def b(self):\n        return 2\nrun(C().a())  # here\n"
    assert behind(program.replace("return 2", "return 3")) == behind(program)
