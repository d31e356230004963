"""Names that imitate well-known ones are known, and ordinary names are left alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandbox.package_index.allowlist import load
from sandbox.package_index.typosquat import distance, look_alikes
from tests.tables import each_row

PYTHON, NODE = (load(name) for name in ("python", "node"))
LETTERS = st.text(st.sampled_from("abcde"), max_size=8)


@each_row(
    ("name", "original", "why"),
    [
        ("reqeusts", "requests", "one letter off"),
        ("urlib3", "urllib3", "one letter off"),
        ("colourama", "colorama", "one letter off"),
        ("python-requests", "requests", "a word added"),
        ("requests-py", "requests", "a word added"),
        ("nump-y", "numpy", "separators"),
        ("pythondateutil", "python-dateutil", "separators"),
        ("dateutil", "python-dateutil", "another ending"),
        ("mock-pytest", "pytest-mock", "another order"),
        ("f1ask", "flask", "look-alike characters"),
        ("djаngo", "django", "look-alike characters"),
        ("nurnpy", "numpy", "look-alike characters"),
    ],
)
def test_an_imitation_of_a_python_name_is_known_with_its_trick(name: str, original: str, why: str) -> None:
    (found,) = [one for one in look_alikes(name, PYTHON.names) if one.name == original]
    assert why in found.why


@each_row(
    ("name", "original"),
    [
        ("expres", "express"),
        ("crossenv", "cross-env"),
        ("@evil/lodash", "lodash"),
        ("babel-core", "@babel/core"),
        ("l0dash", "lodash"),
        ("lodash-js", "lodash"),
        ("nodejs-express", "express"),
        ("reactdom", "react-dom"),
        ("discordjs", "discord.js"),
    ],
)
def test_an_imitation_of_an_npm_name_is_known(name: str, original: str) -> None:
    assert original in [one.name for one in look_alikes(name, NODE.names | NODE.popular)]


@each_row("name", ["flask-restful", "pytest-httpx", "pandas-stubs", "geojson", "pyproj", "left-handed"])
def test_an_ordinary_name_resembles_nothing(name: str) -> None:
    assert look_alikes(name, PYTHON.names) == ()


def test_a_known_name_is_no_imitation_of_itself() -> None:
    assert "requests" not in [one.name for one in look_alikes("requests", PYTHON.names)]


@given(LETTERS, LETTERS)
def test_the_distance_is_the_same_both_ways_and_never_more_than_was_asked_for(first: str, second: str) -> None:
    assert distance(first, second, 2) == distance(second, first, 2) <= 3
    assert (distance(first, second, 2) == 0) == (first == second)


@given(st.text(max_size=60))
def test_no_name_makes_the_comparison_fail(name: str) -> None:
    assert len(look_alikes(name, NODE.names)) <= 3
