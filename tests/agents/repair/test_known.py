"""Place and kind of each failure in a report, as the sandbox makes them."""

from agents.languages.registry import language
from agents.repair.known import problem_of, problems_of, where_text

PYTHON = language()

KEY_ERROR = """\
    def test_price():
>       assert price("tea") == 2
               ^^^^^^^^^^^^

tests/test_cart.py:3:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

n = 'tea'

    def price(n):
>       return P[n]
               ^^^^
E       KeyError: 'tea'

shop/cart.py:3: KeyError"""
COLLECTING = """\
ImportError while importing test module '/workspace/tests/test_bad.py'.
Hint: make sure your test modules/packages have valid Python names.
Traceback:
/usr/lib/python3.11/importlib/__init__.py:126: in import_module
    return _bootstrap._gcd_import(name[level:], package, level)
tests/test_bad.py:1: in <module>
    import nothere
E   ModuleNotFoundError: No module named 'nothere'"""


def failure(nodeid: str, trace: str) -> dict[str, str]:
    return {"nodeid": nodeid, "message": "", "traceback": trace}


def test_the_place_is_the_deepest_one_in_the_projects_own_code() -> None:
    found = problem_of(failure("tests/test_cart.py::test_price", KEY_ERROR), PYTHON)
    assert (found.place, found.kind, found.test) == ("shop/cart.py:3", "KeyError", "tests/test_cart.py::test_price")


def test_an_import_that_fails_is_placed_at_the_import() -> None:
    found = problem_of(failure("tests/test_bad.py", COLLECTING), PYTHON)
    assert (found.place, found.kind) == ("tests/test_bad.py:1", "ModuleNotFoundError")


def test_code_that_does_not_compile_has_its_line() -> None:
    found = problem_of(
        {"nodeid": "calc.py", "message": "calc.py:7: SyntaxError: expected ':' (calc.py, line 7)"}, PYTHON
    )
    assert (found.place, found.kind) == ("calc.py:7", "SyntaxError")


def test_the_coder_is_told_each_place_once() -> None:
    report = {"failures": [failure("a", KEY_ERROR), failure("b", COLLECTING), failure("c", KEY_ERROR)]}
    assert where_text(report, PYTHON) == "Where: shop/cart.py:3 (KeyError), 2 tests"  # a line of a test is in the trace


def test_where_a_hanging_test_was_stopped_is_no_place_of_a_mistake() -> None:
    stopped = KEY_ERROR.replace("KeyError: 'tea'", "TimeLimitError: test_a did not end").replace(
        "KeyError", "TimeLimitError"
    )
    assert where_text({"failures": [failure("a", stopped)]}, PYTHON) == ""


def test_a_test_file_without_a_line_is_no_place_either() -> None:
    errors = [failure(f"t{number}", "ValueError: I/O operation on closed file") for number in range(3)]
    for one in errors:
        one["nodeid"] = "test/test_a.py"
    assert where_text({"failures": errors}, PYTHON) == ""


def test_of_many_places_the_first_are_told() -> None:
    report = {"failures": [failure("a", KEY_ERROR.replace("cart.py:3", f"cart.py:{line}")) for line in range(10, 18)]}
    assert where_text(report, PYTHON).splitlines()[-1] == "Where: and 3 more places"


def test_nothing_is_told_where_nothing_is_known() -> None:
    assert where_text({"failures": [], "output": "Killed by somebody"}, PYTHON) == ""
    assert where_text({"failures": [{"nodeid": "packages", "message": "Package x: refused"}]}, PYTHON) == ""
    assert problems_of({}, PYTHON) == []
