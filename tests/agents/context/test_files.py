"""What a task is shown of the repository."""

from agents.context.files import FILES_CHARS, existing_files
from tests.agents.context.support import SHOP, repository_of


def filler(number):
    return f"def filler_{number}() -> str:\n    return '{'x' * 1_900}'\n"


def test_a_small_repository_is_shown_whole(tmp_path):
    repository, sha = repository_of(tmp_path, SHOP | {"tests/test_money.py": "def test_a(): ...\n"})
    shown = existing_files(repository, sha, ["shop/basket.py"], "the total of a basket")
    for text in SHOP.values():
        assert text.rstrip() in shown
    assert "Map of the rest" not in shown
    assert "Also there: README.md, tests/test_money.py" in shown


def test_of_a_large_one_the_own_file_its_neighbours_pieces_and_a_map_are_shown(tmp_path):
    files = SHOP | {f"pad/filler_{number:02}.py": filler(number) for number in range(40)}
    repository, sha = repository_of(tmp_path, files)
    shown = existing_files(repository, sha, ["shop/basket.py"], "The basket needs filler_33 beside its total")
    assert SHOP["shop/basket.py"].rstrip() in shown
    assert SHOP["shop/money.py"].rstrip() in shown
    assert "def filler_33() -> str" in shown
    assert "Map of the rest (signatures):" in shown
    assert len(shown) < FILES_CHARS + 8_000
    assert shown == existing_files(repository, sha, ["shop/basket.py"], "The basket needs filler_33 beside its total")


def test_every_source_is_the_repository(tmp_path):
    repository, sha = repository_of(tmp_path, {f"p{n}.py": filler(n) for n in range(40)})
    assert [source.value for source in existing_files(repository, sha, [], "filler_3").sources] == ["repository"]
