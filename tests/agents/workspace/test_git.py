from agents.workspace.git import is_branch_name
from tests.tables import each_row


@each_row("name", ["main", "release/2.x", "fix-#12", "feature/a+b", "bot/@types/node", "a=b,c"])
def test_a_branch_keeps_its_name(name: str) -> None:
    assert is_branch_name(name)


@each_row("name", ["", "-d", "a..b", "a b", "a//b", "a/", "/a", "a.", "x.lock", "x.lock/y", "a\n", "@{1}"])
def test_a_name_that_git_or_a_page_would_take_for_something_else_is_none(name: str) -> None:
    assert not is_branch_name(name)


def test_a_name_has_an_end() -> None:
    assert is_branch_name("a" * 200)
    assert not is_branch_name("a" * 201)
