"""Reading Python survives Python losing count, and says so when it does not."""

import ast
from concurrent.futures import ThreadPoolExecutor

import pytest

from agents.firewall.base import FirewallContext
from agents.firewall.code.python import judge_code
from agents.languages.python import syntax
from agents.languages.python.packages import imported_modules

LOST = SystemError("AST constructor recursion depth mismatch (before=1, after=3)")


@pytest.fixture
def losing(monkeypatch):
    """Makes Python lose count so many times."""

    def lose(times):
        real, left = ast.parse, [times]

        def parse(*args, **options):
            if left[0] > 0:
                left[0] -= 1
                raise LOST
            return real(*args, **options)

        monkeypatch.setattr(ast, "parse", parse)
        return left

    return lose


def test_a_file_that_python_lost_count_in_is_read_again(losing):
    left = losing(syntax.TRIES - 1)
    assert imported_modules({"a.py": "import json\n"}) == {"json"}
    assert left == [0]


def test_a_literal_is_read_again_too(losing):
    losing(1)
    assert syntax.literal("{'a': [1]}") == {"a": [1]}


def test_what_is_never_read_counts_as_no_python_and_is_not_waved_through(losing):
    losing(10_000)
    with pytest.raises(RecursionError):
        syntax.parse("x = 1")
    with pytest.raises(RecursionError):
        syntax.literal("1")
    assert imported_modules({"a.py": "import json\n"}) == set()
    assert judge_code("x = 1", FirewallContext()).decision == "deny"


@pytest.mark.parametrize("text", ["x = ", "\x00", "(" * 5_000, b"\xff\xfe"])
def test_what_is_no_python_raises_what_callers_expect(text):
    with pytest.raises(syntax.UNREADABLE):
        syntax.parse(text)


def test_many_threads_read_the_same_as_one():
    source = "\n".join(f"def f{n}(a, b={n}):\n    return [a + {n} for _ in range(b) if a < {n}]" for n in range(40))
    wanted = ast.dump(syntax.parse(source))
    with ThreadPoolExecutor(8) as pool:
        assert {ast.dump(tree) for tree in pool.map(syntax.parse, [source] * 60)} == {wanted}
