"""What a task is shown of the repository."""

from itertools import pairwise

import pytest

from agents.context import files
from agents.context.files import outline
from agents.context.meaning import Meaning
from agents.context.vectors import VectorStore
from agents.llm.base import ModelUnavailable
from agents.memory.folder import ChromaFolder
from tests.agents.context.support import SHOP, Embedder, commit, existing_files, repository_of


def filler(number):
    return f"def filler_{number}() -> str:\n    return '{'x' * 1_900}'\n"


def test_a_small_repository_is_shown_whole(tmp_path):
    repository, sha = repository_of(tmp_path, SHOP | {"tests/test_money.py": "def test_a(): ...\n"})
    shown = existing_files(repository, sha, ["shop/basket.py"], "the total of a basket").text
    for text in SHOP.values():
        assert text.rstrip() in shown
    assert "Map of the rest" not in shown
    assert "Also there: README.md, tests/test_money.py" in shown


def test_of_a_large_one_the_own_file_what_it_imports_and_what_the_task_names_are_shown(tmp_path):
    there = SHOP | {f"pad/filler_{number:02}.py": filler(number) for number in range(40)}
    repository, sha = repository_of(tmp_path, there)
    shown = existing_files(repository, sha, ["shop/basket.py"], "The basket needs filler_33 beside its total").text
    assert SHOP["shop/basket.py"].rstrip() in shown
    assert 'def plus(self, other: "Money") -> "Money"' in shown
    assert "def filler_33() -> str" in shown
    assert "filler_34" not in shown
    assert len(shown) < 6_000
    again = existing_files(repository, sha, ["shop/basket.py"], "The basket needs filler_33 beside its total")
    assert again.text == shown


def test_every_source_is_the_repository(tmp_path):
    repository, sha = repository_of(tmp_path, {f"p{n}.py": filler(n) for n in range(40)})
    assert [source.value for source in existing_files(repository, sha, [], "filler_3").text.sources] == ["repository"]


@pytest.fixture
def model():
    """An embedding model."""
    return Embedder()


@pytest.fixture
def meaning(tmp_path, model):
    return Meaning("m", model, VectorStore(ChromaFolder(tmp_path / "chroma"), "shop", "m"))


def padded(number):
    """A repository too large to be shown whole, in which one function gives money back."""
    filling = {f"pad/filler_{each:02}.py": filler(each) for each in range(number)}
    return filling | {
        "zz/orders.py": "def reimburse(order: str, cents: int) -> bool:\n    return bool(order and cents)\n"
    }


def test_code_is_found_whose_words_the_task_does_not_use(tmp_path, meaning):
    repository, sha = repository_of(tmp_path, padded(40))
    about = "Customers want their pay back"
    shown = existing_files(repository, sha, ["pad/filler_00.py"], about, meaning)
    pieces = shown.text.partition("Code of other files that fits the task:")[2].partition("Map")[0]
    assert "def reimburse(order: str" in pieces
    assert shown.nearness.problem == ""
    by_words = existing_files(repository, sha, ["pad/filler_00.py"], about)
    assert "return bool(order and cents)" not in by_words.text
    assert by_words.nearness is None


def test_a_commit_embeds_the_functions_that_it_changed(tmp_path, model, meaning):
    repository, sha = repository_of(tmp_path, padded(40))
    about = "Customers want their pay back"
    existing_files(repository, sha, ["pad/filler_00.py"], about, meaning)
    before = len(model.texts)
    changed = commit(repository, {"zz/orders.py": "def refund(order: str) -> bool:\n    return bool(order)\n"})
    shown = existing_files(repository, changed, ["pad/filler_00.py"], about, meaning).text
    assert len(model.texts) == before + 1
    assert "def refund" in shown


def test_without_an_answer_of_the_model_the_task_goes_on_by_words_and_keeps_its_bytes(tmp_path, model, meaning):
    model.away = ModelUnavailable("no server")
    repository, sha = repository_of(tmp_path, padded(40))
    shown = existing_files(repository, sha, ["pad/filler_00.py"], "give the money back", meaning).text
    again = existing_files(repository, sha, ["pad/filler_00.py"], "give the money back", meaning)
    assert again.nearness.problem == "no server"
    model.away = None
    assert existing_files(repository, sha, ["pad/filler_00.py"], "give the money back", meaning).text == shown


def test_another_process_with_the_vectors_shows_the_same_bytes(tmp_path, model, meaning):
    repository, sha = repository_of(tmp_path, padded(40))
    about = "Customers want their pay back"
    first = existing_files(repository, sha, ["pad/filler_00.py"], about, meaning).text
    files._known.clear()
    model.away = ModelUnavailable("no server")
    assert existing_files(repository, sha, ["pad/filler_00.py"], about, meaning).text == first


def test_a_plan_is_shown_the_code_by_its_paths(tmp_path):
    repository, sha = repository_of(tmp_path, SHOP | {"tests/test_money.py": "def test_a(): ...\n"})
    shown = outline(repository, sha, "the total of a basket")
    assert "shop/basket.py:" in shown
    assert "def total(" in shown
    assert "README.md, tests/test_money.py" in shown
    short = {"src/cli.ts": "type Write = (text: string) => void;\nexport function run(args: string[]): number {}\n"}
    skeleton, sha = repository_of(tmp_path / "short", short)
    assert "function run(" in outline(skeleton, sha, "Write to a file."), "of a short file all is shown"
    empty, sha = repository_of(tmp_path / "new", {"README.md": "# New\n"})
    assert outline(empty, sha, "a shop") == ""


def test_of_an_own_file_that_is_too_long_what_the_task_names_is_shown_in_its_place_and_no_neighbour(tmp_path):
    methods = "".join(f"    def m{n}(self) -> str:\n        return '{'y' * 300}'\n\n" for n in range(30))
    classes = [f'class {name}:\n    """A {name}."""\n\n{methods}' for name in ("Till", "Shelf", "Van")]
    long = "\n\n".join(['"""Shop."""\n\nRATE = 3\n', *classes])
    repository, sha = repository_of(tmp_path, SHOP | {"shop/long.py": long})
    shown = existing_files(repository, sha, ["shop/long.py"], "Count what is on the Shelf").text
    assert "Parts of shop/long.py, a file of 288 lines; … marks what is not shown:" in shown
    assert '```path=shop/long.py from=repository\n"""Shop."""' in shown
    assert shown.count("y" * 300) == 30
    assert "… not shown: RATE, Till …" in shown
    by_method = existing_files(repository, sha, ["shop/long.py"], "`m29` of the Shelf, the Till and the Van").text
    assert "def m29(self)" in by_method.partition("class Van")[2]
    assert "… not shown: Van …" in shown
    assert "return Money(self.cents + other.cents)" not in shown


def test_english_words_that_are_names_of_definitions_do_not_use_up_the_room(tmp_path):
    sizes = {"one": 4_000, "first": 4_000, "last": 4_000, "pad": 4_000, "swap": 7_000}
    long = "".join(f"def {name}(x):\n    return '{name[0] * size}'\n\n\n" for name, size in sizes.items())
    repository, sha = repository_of(tmp_path, SHOP | {"shop/long.py": long})
    about = "`swap(x)` gives one item too many: the first and the last, where only the first is asked for"
    assert "s" * 7_000 in existing_files(repository, sha, ["shop/long.py"], about).text


def test_of_a_long_stub_beside_a_module_what_the_task_names_is_shown(tmp_path):
    stub = "import money\n\n\n" + "".join(
        f"def rate_{number}(country: str, year: int, kind: str) -> money.Rate: ...\n" for number in range(90)
    )
    there = SHOP | {"shop/rates.py": "def rate_7(): return 7\n", "shop/rates.pyi": stub}
    repository, sha = repository_of(tmp_path, there)
    shown = existing_files(repository, sha, ["shop/rates.py", "shop/rates.pyi"], "`rate_7` takes a month")
    part = shown.text.partition("Parts of shop/rates.pyi, a file of 93 lines")[2].partition("```\n")[0]
    assert "def rate_7(country: str" in part
    assert "not shown: rate_" in part
    assert len(part) < files.STUB_CHARS + 500
    assert shown.parts == {"shop/rates.pyi"}
    assert "def rate_7(): return 7\n" in shown.text


def test_of_tables_and_functions_that_are_too_long_the_ends_are_shown(tmp_path):
    table = "TABLE = {\n" + "".join(f"    'row {n}': '{'y' * 60}',\n" for n in range(400)) + "}\n"
    prose = "".join(f"    Line {n} of a long explanation.\n" for n in range(700))
    module = f'{table}\n\ndef draw(rows, sep):\n    """Draw.\n\n{prose}    """\n    return sep.join(rows)\n'
    repository, sha = repository_of(tmp_path, SHOP | {"shop/sheet.py": module})
    shown = existing_files(repository, sha, ["shop/sheet.py"], "draw takes a title too").text
    assert "… not shown: TABLE …" in shown
    assert "def draw(rows, sep):" in shown
    assert "    Line 20 of" in shown
    assert " lines not shown …\n    Line 6" in shown
    assert "    return sep.join(rows)\n" in shown
    assert len(shown) < 12_000
    middling = f'def render(rows):\n    """Render.\n\n{prose[:4_000]}\n    """\n    return rows\n'
    repository, sha = repository_of(tmp_path / "more", SHOP | {"shop/sheet.py": f"{module}\n\n{middling}"})
    shown = existing_files(repository, sha, ["shop/sheet.py"], "the long explanation that is rendered").text
    assert middling in shown


def test_a_folder_of_data_hides_no_other_file(tmp_path):
    data = {f"tests/data/case_{number // 50}/{number}.toml": "" for number in range(200)}
    repository, sha = repository_of(tmp_path, SHOP | data | {"tests/test_money.py": "", "zz/last.txt": ""})
    shown = outline(repository, sha, "the total of a basket")
    assert "tests/data/case_0/ (50 files), " in shown
    assert "tests/test_money.py, zz/last.txt" in shown
    assert "case_0/1.toml" not in shown


LICENCE = "# Copyright 2020 The Shop\n# Licensed under the Apache License, Version 2.0.\n# See LICENSE.\n"


def test_the_own_files_come_before_all_others_whatever_their_kind(tmp_path):
    repository, sha = repository_of(tmp_path, SHOP | {"zz/prices.sql": "SELECT 1;\n", "zz/logo.png": "\0\0"})
    shown = existing_files(repository, sha, ["zz/prices.sql", "zz/logo.png"], "prices").text
    own, others = shown.index("SELECT 1;"), shown.index("class Basket")
    assert own < shown.index("Other files:") < others
    assert "\0" not in shown


def test_an_own_file_without_definitions_that_is_too_long_is_shown_by_its_ends_and_called_a_part(tmp_path):
    rows = "".join(f"row {number}: {'y' * 60}\n" for number in range(600))
    repository, sha = repository_of(tmp_path, SHOP | {"rows.yaml": rows})
    shown = existing_files(repository, sha, ["rows.yaml"], "the rows").text
    assert "Parts of rows.yaml, a file of 600 lines; … marks what is not shown:" in shown
    assert "row 0: " in shown
    assert "row 599: " in shown
    assert " lines not shown …" in shown


def test_two_own_files_that_are_too_long_share_the_room(tmp_path):
    long = "".join(f"def f{number}(x):\n    return '{'y' * 1_000}'\n\n\n" for number in range(40))
    repository, sha = repository_of(tmp_path, SHOP | {"shop/a.py": long, "shop/b.py": long.replace("def f", "def g")})
    shown = existing_files(repository, sha, ["shop/a.py", "shop/b.py"], "`f33` calls `g39`").text
    assert "def f33(x)" in shown
    assert "def g39(x)" in shown
    assert "… not shown: f0, f1" in shown
    assert "… not shown: g0, g1" in shown


def test_of_a_document_that_is_too_long_the_sections_that_fit_the_task_are_shown(tmp_path):
    filling = "".join(f"## Chapter {number}\n\n{'word ' * 200}\n\n" for number in range(40))
    page = f"# Manual\n\n{filling}## Refunds\n\nMoney goes back within a week.\n"
    repository, sha = repository_of(tmp_path, SHOP | {"docs/manual.md": page})
    shown = existing_files(repository, sha, ["docs/manual.md"], "Refunds are paid back within a day").text
    assert "# Manual" in shown
    assert "Money goes back within a week." in shown
    assert shown.count("word " * 200) < 20


def test_licence_headers_are_left_out_and_it_says_so(tmp_path):
    text = f"{LICENCE}\n{SHOP['shop/money.py']}"
    repository, sha = repository_of(tmp_path, SHOP | {"shop/money.py": text})
    shown = existing_files(repository, sha, ["shop/money.py"], "money").text
    assert "Copyright" not in shown
    assert shown.startswith("Licence header left out, it stays in the file: shop/money.py\n")
    assert "```path=shop/money.py from=repository\nclass Money:" in shown


def test_the_existing_tests_and_what_own_files_import_come_before_other_files(tmp_path):
    tests = "def test_total():\n    assert Basket().total().cents == 1\n"
    padding = "".join(f"def extra_{n}(x):\n    return '{'y' * 1_000}'\n\n\n" for n in range(20))
    there = SHOP | {"tests/test_basket.py": tests, "shop/money.py": SHOP["shop/money.py"] + padding}
    there |= {f"pad/filler_{number:02}.py": filler(number) for number in range(20)}
    repository, sha = repository_of(tmp_path, there)
    shown = existing_files(repository, sha, ["shop/basket.py"], "filler_3", beside=["tests/test_basket.py"]).text
    parts = ("class Basket:", "Existing tests of these files:", "def test_total():")
    parts += ("What these files import (signatures):", "class Money", "Code of other files", "def filler_")
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)


def test_when_the_room_is_short_the_most_useful_part_stays(tmp_path):
    tests = "def test_total():\n    assert Basket().total().cents == 1\n"
    there = SHOP | {"tests/test_basket.py": tests} | {f"pad/filler_{n:02}.py": filler(n) for n in range(20)}
    repository, sha = repository_of(tmp_path, there)
    parts = ["class Basket:", "def test_total():", "What these files import", "Code of other files"]
    seen = []
    for tokens in (9_000, 1_400, 1_230, 1_000):
        options = {"beside": ["tests/test_basket.py"], "tokens": tokens}
        shown = existing_files(repository, sha, ["shop/basket.py"], "filler_3", **options).text
        seen.append([part in shown for part in parts])
    assert seen[0] == [True, True, True, True]
    assert seen[-1] == [True, False, False, False]
    for more, less in pairwise(seen):
        assert sum(more) >= sum(less)
    assert all(row == sorted(row, reverse=True) for row in seen)


def test_a_lock_is_named_and_shown_only_to_a_task_that_names_it(tmp_path):
    repository, sha = repository_of(tmp_path, SHOP | {"requirements.lock.txt": "pad==1.0 --hash=sha256:0\n"})
    shown = existing_files(repository, sha, ["shop/basket.py"], "the total of a basket").text
    assert "--hash=sha256:0" not in shown
    assert "requirements.lock.txt" in shown
    assert "--hash=sha256:0" in existing_files(repository, sha, ["requirements.lock.txt"], "newer packages").text
