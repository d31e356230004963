"""Names that nothing defines are found by reading; builtins, fixtures and star imports are none."""

import pytest

from agents.languages.python import undefined
from agents.languages.registry import language


def test_a_name_that_is_used_and_not_imported_is_found_with_its_line():
    assert language("python").undefined_names("def test_a():\n    assert pytest.approx(1) == 1\n") == [(2, "pytest")]


@pytest.mark.parametrize(
    "source", ["", "def broken(", "from calc import *\nadd(1)", "def test(tmp_path):\n    len(tmp_path)"]
)
def test_what_is_or_may_be_defined_is_not_reported(source):
    assert language("python").undefined_names(source) == []


def test_without_the_program_nothing_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(undefined.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(undefined.shutil, "which", lambda name: None)
    assert undefined.undefined_names("pytest") == []
