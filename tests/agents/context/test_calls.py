"""What belongs to the functions that a task names."""

from agents.context.calls import around, code_words, named
from agents.context.retrieval import Chunk, Piece
from tests.agents.context.support import SHOP, existing_files, repository_of


def chunk(name: str, text: str, path: str = "a.py") -> Chunk:
    return Chunk(path, Piece(name, 1, 2, text, {}))


PAY = chunk("Till.pay", "def pay(self):\n    return rounded(self.sum)")
ROUNDED = chunk("rounded", "def rounded(x):\n    return x")
SELL = chunk("sell", "def sell(till):\n    till.pay()", "b.py")
OTHER = chunk("payday", "def payday():\n    pass")
ALL = [OTHER, SELL, ROUNDED, PAY]


def test_a_method_is_named_by_its_bare_name_unless_many_have_it() -> None:
    assert named("`pay` rounds wrongly", ALL) == [PAY]
    many = [chunk(f"C{number}.pay", "") for number in range(5)]
    assert named("`pay` rounds wrongly", many) == []
    assert named("`C3.pay` rounds wrongly", many) == [many[3]]


def test_english_is_no_name() -> None:
    assert code_words("pay the rounded sum") == set()
    assert code_words("pay() and `rounded`, a Till, sum_up") == {"pay", "rounded", "Till", "sum_up"}


def test_of_a_class_whose_methods_are_named_the_others_are_not_meant() -> None:
    close = chunk("Till.close", "def close(self):\n    pass")
    assert named("`pay` of Till rounds wrongly", [*ALL, close]) == [PAY]
    assert named("Till rounds wrongly", [*ALL, close]) == [PAY, close]


def test_how_a_class_begins_belongs_to_its_methods() -> None:
    begins = chunk("Till.__init__", "def __init__(self):\n    self.sum = 0")
    assert around([PAY], [*ALL, begins]) == [begins, ROUNDED, SELL]


def test_a_method_of_a_text_is_no_function_of_another_module() -> None:
    strip, uses = chunk("strip", "def strip(x):\n    return x", "tools.py"), chunk("use", "def use(x):\n    x.strip()")
    assert around([uses], [strip, uses]) == []
    by_module = chunk("use", "def use(x):\n    tools.strip(x)")
    assert around([by_module], [strip, by_module]) == [strip]


def test_a_path_names_no_code() -> None:
    begins = chunk("Till.__init__", "def __init__(self):\n    self.sum = 0", "shop/__init__.py")
    assert named("`pay` in shop/__init__.py", [begins, PAY]) == [PAY]
    assert code_words("see Till in shop/Till.py and README.md") == {"Till"}


def test_what_is_called_comes_before_what_calls() -> None:
    assert around([PAY], ALL) == [ROUNDED, SELL]
    assert around([OTHER], ALL) == []


def test_of_a_long_file_what_the_named_function_calls_and_what_calls_it_comes_before_words(tmp_path) -> None:
    words = "".join(f"def amount_{n}(amount):\n    return 'amount {'y' * 2_000}'\n\n\n" for n in range(14))
    calls = {"split": "quantum(x)", "quantum": "x", "top": "split(x)"}
    code = "".join(f"def {name}(x):\n    return {body}\n\n\n" for name, body in calls.items())
    far = {"shop/use.py": "from shop.long import split\n\n\ndef far(x):\n    return split(x)\n"}
    repository, sha = repository_of(tmp_path, SHOP | far | {"shop/long.py": words + "\n\n" + code})
    shown = existing_files(repository, sha, ["shop/long.py"], "`split` loses an amount of the amount").text
    for body in ("return quantum(x)", "def quantum(x)", "def top(x)"):
        assert body in shown.partition("Code of other files")[0]
    assert "def far(x)" in shown.partition("Code of other files that fits the task:")[2]


def test_far_files_are_told_by_their_folder_and_those_beside_the_tasks_by_name(tmp_path) -> None:
    data = {f"data/case_{number}.toml": "" for number in range(30)}
    long = {"shop/long.py": "".join(f"def f{n}(x):\n    return '{'y' * 1_000}'\n\n\n" for n in range(40))}
    repository, sha = repository_of(tmp_path, SHOP | data | long | {"shop/logo.txt": "", "README.md": "# S\n"})
    shown = existing_files(repository, sha, ["shop/long.py"], "`f1`").text
    there = "shop/basket.py, shop/logo.txt, shop/money.py, shop/weather.py, data/ (30 files), web/ (1 files)"
    assert shown.rstrip("`\n").endswith(f"Also there: {there}")


def test_what_only_an_example_names_is_shown_of_the_own_file_and_not_of_others(tmp_path) -> None:
    long = "".join(f"def f{n}(x):\n    return '{'y' * 1_000}'\n\n\n" for n in range(40))
    repository, sha = repository_of(tmp_path, SHOP | {"shop/long.py": long})
    shown = existing_files(repository, sha, ["shop/long.py"], "`f1`", examples=">>> f33(forecast(1))").text
    assert "def f33(x):" in shown
    assert "return 'rain in ' + city" not in shown
    assert "return 'rain in ' + city" in existing_files(repository, sha, ["shop/long.py"], "forecast(1)").text


def test_a_long_list_of_names_that_are_not_shown_is_cut(tmp_path) -> None:
    long = "".join(f"def f{n}(x):\n    return '{'y' * 1_000}'\n\n\n" for n in range(60))
    repository, sha = repository_of(tmp_path, SHOP | {"shop/long.py": long})
    shown = existing_files(repository, sha, ["shop/long.py"], "`f1`").text
    assert "f4 and 55 more …" in shown


def test_the_nearest_of_several_tests_is_shown_most_of(tmp_path) -> None:
    names = ("long", "other", "third", "fourth")
    rows = [f"def test_{{0}}_{n}():\n    assert '{'y' * 400}'\n\n\n" for n in range(20)]
    tests = {f"tests/test_{name}.py": "".join(rows).format(name) for name in names}
    long = "".join(f"def f{n}(x):\n    return '{'y' * 1_000}'\n\n\n" for n in range(60))
    repository, sha = repository_of(tmp_path, SHOP | tests | {"shop/long.py": long})
    beside = list(tests)
    shown = existing_files(repository, sha, ["shop/long.py"], "long other third fourth `f1`", beside=beside).text
    counts = [shown.count(f"def test_{name}_") for name in names]
    assert counts[0] > counts[1] > 0
    assert counts[3] == 0


def test_beside_the_tasks_own_files_others_give_what_it_names_and_signatures_of_what_these_import(tmp_path) -> None:
    padding = {f"pad/part_{number}.py": f"def part_{number}():\n    return '{'x' * 1_500}'\n" for number in range(20)}
    repository, sha = repository_of(tmp_path, SHOP | padding)
    shown = existing_files(repository, sha, ["shop/basket.py"], "The total, as `part_7` makes it").text
    imports, _, others = shown.partition("Code of other files")
    assert "class Money" in imports.partition("What these files import")[2]
    assert "path=pad/part_7.py" in others
    assert "part_8" not in others
    assert "Map" not in shown


def test_of_a_class_that_the_task_names_what_it_inherits_is_shown_and_not_what_others_call_the_same(tmp_path) -> None:
    rest = "    def rest(self):\n" + f"        return '{'x' * 900}'\n" * 8
    code = "".join(
        f"class {name}{base}:\n    def {method}(self):\n        return {number}\n\n{rest}\n\n"
        for number, (name, base, method) in enumerate(
            [("Till", "", "total"), ("Drawer", "(Till)", "count"), ("Safe", "(Till)", "pop"), ("Vault", "", "total")]
        )
    )
    repository, sha = repository_of(tmp_path, SHOP | {"shop/tills.py": code + "class Slot(Drawer):\n    size = 1\n"})
    shown = existing_files(repository, sha, ["shop/tills.py"], "`Slot` gets `total()` and `pop()`").text
    assert "return 1" in shown
    assert "return 2" not in shown
    assert "return 3" not in shown


def test_of_a_long_file_in_which_the_task_names_something_a_part_is_enough(tmp_path) -> None:
    code = "".join(f"def f{number}(x):\n    return '{'y' * 900}'\n\n\n" for number in range(24))
    repository, sha = repository_of(tmp_path, SHOP | {"shop/long.py": code, "shop/more.py": code[:3_000]})
    assert "Parts of shop/long.py" in existing_files(repository, sha, ["shop/long.py"], "`f7` takes no argument").text
    assert "Parts of" not in existing_files(repository, sha, ["shop/long.py"], "It is too slow").text


def test_of_a_long_test_file_of_the_task_a_few_tests_are_shown(tmp_path) -> None:
    tests = "".join(
        f"def test_{number}():\n    assert {number} == int('{'0' * 200}{number}')\n\n\n" for number in range(60)
    )
    repository, sha = repository_of(tmp_path, SHOP | {"tests/test_numbers.py": tests})
    shown = existing_files(repository, sha, ["tests/test_numbers.py", "shop/money.py"], "Numbers of the shop").text
    assert "Parts of tests/test_numbers.py, a file of 240 lines" in shown
    assert 'def plus(self, other: "Money")' in shown
    assert len(shown) < 9_000


def test_where_the_task_names_code_little_is_added_that_only_shares_its_words(tmp_path) -> None:
    code = "".join(f"def amount_{number}(amount):\n    return 'amount {'y' * 400}'\n\n\n" for number in range(60))
    repository, sha = repository_of(tmp_path, SHOP | {"shop/long.py": f"{code}def split(x):\n    return x\n"})
    shown = existing_files(repository, sha, ["shop/long.py"], "`split` loses an amount of the amount").text
    assert "def split(x)" in shown
    assert shown.count("return 'amount") <= 3


def test_a_method_that_the_task_names_is_found_in_its_class_and_a_long_one_of_the_base_is_shown_too(tmp_path) -> None:
    padding = {f"pad/part_{number}.py": f"def part_{number}():\n    return '{'x' * 1_500}'\n" for number in range(20)}
    long = "".join(f"        self.kept[{number}] = key\n" for number in range(30))
    base = f"class Store:\n    def put(self, key):\n{long}\n    def all(self):\n        return '{'y' * 3_000}'\n\n\n"
    shelf = "class Shelf(Store):\n    def figures(self):\n        return 42\n"
    repository, sha = repository_of(tmp_path, SHOP | padding | {"shop/store.py": base + shelf, "README.md": "# Shop\n"})
    for own in (["README.md"], ["shop/report.py"]):
        shown = existing_files(repository, sha, own, "An example of `figures()`").text
        assert "return 42" in shown
    assert "… in Store:\n\n    def put(self, key):" in shown
    assert "self.kept[29]" in shown


def test_a_variable_that_is_called_like_a_module_imports_nothing(tmp_path) -> None:
    padding = {f"pad/part_{number}.py": f"def part_{number}():\n    return '{'x' * 1_500}'\n" for number in range(20)}
    there = SHOP | padding | {"shop/func.py": "def total(func):\n    return func\n"}
    there["shop/basket.py"] = f"{SHOP['shop/basket.py']}\n\ndef each(func):\n    return func.total\n"
    repository, sha = repository_of(tmp_path, there)
    shown = existing_files(repository, sha, ["shop/basket.py"], "`each` is slow").text
    assert "shop/func.py" not in shown.partition("Also there:")[0]
    assert "shop/money.py" in shown.partition("Also there:")[0]


def function(name: str, body: str = "pass", fill: int = 900) -> str:
    return f"def {name}(x):\n    {body}\n    # {'y' * fill}\n\n\n"


def shown_of(tmp_path, code: str, about: str, **more: object) -> str:
    repository, sha = repository_of(tmp_path, SHOP | {"shop/long.py": code + "".join(map(function, FILL))})
    shown = existing_files(repository, sha, ["shop/long.py"], about, **more).text
    return shown.partition("```path=shop/long.py")[2].partition("```\n")[0]


FILL = [f"other_{number}" for number in range(32)]


def test_what_a_method_calls_is_shown_before_the_rest_of_its_class(tmp_path) -> None:
    methods = [f"    def method_{n}(self):\n        return {n}  # {'y' * 900}\n\n" for n in range(18)]
    draw = "    def draw(self):\n        return self._width()\n\n    def _width(self):\n        return 'the width'\n\n"
    text = shown_of(tmp_path, "class Table:\n" + "".join(methods) + draw + "\n", "`draw` of Table forgets a row")
    assert "return 'the width'" in text
    assert "return 17" not in text


def test_what_only_the_requirement_names_brings_nothing_that_it_calls(tmp_path) -> None:
    code = function("convert") + function("parse", "return inner(x)") + function("inner", "return 'far'")
    text = shown_of(tmp_path, code, "Mend `convert`.", wishes='parse("x") gives the same')
    assert "return inner(x)" in text
    assert "return 'far'" not in text
    assert "return 'far'" in shown_of(tmp_path / "2", code, "Mend it.", wishes='parse("x") gives the same')


def test_values_that_nothing_shown_mentions_are_named_alone(tmp_path) -> None:
    values = "RATES = {\n    'a': 1,\n}\nLIMITS = {\n    'b': 2,\n}\n__all__ = ['convert']\n\n\n"
    code = values + function("convert", "return RATES[x]")
    text = shown_of(tmp_path, code, "Mend `convert`.")
    assert "'a': 1" in text
    assert "'b': 2" not in text
    assert "… not shown: LIMITS …" in text
    assert "__all__ = ['convert']" in text
    assert "'b': 2" in shown_of(tmp_path / "2", code, "Mend `convert` and LIMITS.")


def test_a_long_text_at_the_top_and_a_licence_at_the_end_are_left_out_of_a_long_file(tmp_path) -> None:
    top = '"""Converts things.\n\n' + "A long story.\n" * 60 + '"""\n\nimport os\n\n\n'
    end = "\n\n# Copyright (c) Somebody\n# Permission is granted\n# to anybody.\n\n# vim: tw=75\n"
    repository, sha = repository_of(
        tmp_path, {"shop/long.py": top + function("convert") + "".join(map(function, FILL)) + end}
    )
    text = existing_files(repository, sha, ["shop/long.py"], "Mend `convert`.").text
    assert "Converts things." in text
    assert "A long story." not in text
    assert "import os" in text
    assert "Permission is granted" not in text


def test_a_program_at_the_end_is_cut_and_a_value_in_a_branch_stays(tmp_path) -> None:
    code = "try:\n    import fast as quick\nexcept ImportError:\n    quick = None\n\n\n" + function("convert")
    end = "if __name__ == '__main__':\n" + "    print(convert(1))\n" * 40
    repository, sha = repository_of(tmp_path, {"shop/long.py": code + "".join(map(function, FILL)) + end})
    text = existing_files(repository, sha, ["shop/long.py"], "Mend `convert`, use `quick`.").text
    assert "    quick = None" in text
    assert "if __name__ == '__main__':\n    … not shown …" in text
    assert "print(convert(1))" not in text


def test_a_stub_is_not_shown_beside_its_module(tmp_path) -> None:
    files = SHOP | {"shop/long.py": "".join(map(function, FILL)), "shop/long.pyi": "def other_3(x: int) -> int: ...\n"}
    repository, sha = repository_of(tmp_path, files)
    assert "x: int" not in existing_files(repository, sha, ["shop/long.py"], "Mend `other_3`.").text


def test_tests_beside_the_code_are_shown_as_tests_where_the_runner_is_told_of_them(tmp_path) -> None:
    rows = "".join(f"def test_{n}():\n    assert '{'y' * 900}'\n\n\n" for n in range(20))
    repository, sha = repository_of(tmp_path, SHOP | {"tests.py": rows})
    text = existing_files(repository, sha, ["tests.py"], "Test the basket", told=["tests.py"]).text
    assert len(text) < len(rows) / 3


def test_of_a_long_function_the_lines_that_the_task_speaks_of_are_shown_and_not_to_be_sent_whole(tmp_path) -> None:
    steps = "".join(f"    step_{number} = number + {number}\n" for number in range(90))
    code = f'RATES = {{"a": 1}}\n\n\ndef convert(number):\n    """Convert it."""\n{steps}    return RATES[number]\n\n\n'
    repository, sha = repository_of(tmp_path, {"shop/long.py": code + "".join(map(function, FILL))})
    text = existing_files(repository, sha, ["shop/long.py"], "`convert` looks up in RATES.").text
    assert 'def convert(number):\n    """Convert it."""\n    … 82 lines not shown: quote what changes' in text
    assert "    step_89 = number + 89\n    return RATES[number]" in text
    assert "step_40" not in text
    assert "step_40" in existing_files(repository, sha, ["shop/long.py"], "Mend `convert`.").text


def test_of_what_is_only_called_the_head_is_shown_unless_it_is_short_or_the_task_speaks_of_it(tmp_path) -> None:
    long = "".join(f"    x += {number}\n" for number in range(40))
    helpers = "".join(
        f'def {name}(x):\n    """Says what {name} does."""\n{long}    return x\n\n\n'
        for name in ("tidy_up", "sort_rows")
    )
    code = f"import re\n\nUNUSED = re\n\n\n{helpers}def convert(x):\n    return tidy_up(sort_rows(x))\n\n\n"
    repository, sha = repository_of(tmp_path, {"shop/long.py": code + "".join(map(function, FILL))})
    text = existing_files(repository, sha, ["shop/long.py"], "`convert` gives the rows sorted.").text
    assert 'def tidy_up(x):\n    """Says what tidy_up does."""\n    …' in text
    assert "    x += 39\n    return x\n" in text.partition("def sort_rows(x):")[2]
    assert text.count("x += 39") == 1


def test_of_code_elsewhere_that_a_task_uses_its_summary_and_examples_are_shown(tmp_path) -> None:
    doc = "Write a sum.\n\n    Args:\n        x (int): The sum.\n\n    >>> written(1)\n    'one'\n    "
    use = f'def written(x):\n    """{doc}"""\n' + "".join(f"    x += {number}\n" for number in range(40))
    files = {"shop/words.py": use, "shop/long.py": "".join(map(function, FILL)), "shop/till.py": "RATE = 1\n"}
    repository, sha = repository_of(tmp_path, files)
    text = existing_files(repository, sha, ["shop/till.py"], "Sums are `written(x)`.").text
    shown = text.partition("path=shop/words.py")[2]
    assert '"""Write a sum.\n    >>> written(1)\n    \'one\'\n    """\n    …' in shown
    assert "Args:" not in shown
    assert "x += 39" not in shown
