"""Issues are read in SWE-bench's format, and a file that is something else says where."""

from __future__ import annotations

import json

import pytest

from measure.trials.datasets import BadDataset
from measure.trials.issues import load_issues, repository_of
from tests.measure.trials.issue_samples import instances, row
from tests.tables import each_row


def test_rows_are_read_as_a_list_and_as_lines_with_their_tests_as_text_or_list(tmp_path):
    one = row(tmp_path / "repositories")
    (tmp_path / "list.json").write_text(json.dumps([one, one | {"instance_id": "b", "PASS_TO_PASS": []}]))
    first, second = load_issues(tmp_path / "list.json")
    assert (first.fail_to_pass, first.pass_to_pass) == (
        ("tests/test_cart.py::test_empty",),
        ("tests/test_cart.py::test_sum",),
    )
    assert (second.id, second.pass_to_pass, second.given) == ("b", (), False)
    assert load_issues(instances(tmp_path, one)) == [first]
    assert load_issues(tmp_path / "list.json", ["b"]) == [second]


def test_what_a_model_is_told_holds_neither_patch_nor_hints(tmp_path):
    (issue,) = load_issues(instances(tmp_path, row(tmp_path / "repositories")))
    assert issue.text == "The total of an empty cart is an error. It should be 0."


def test_a_bug_with_its_failing_tests_in_the_repository_needs_no_statement(tmp_path):
    bug = {"id": "shop-7", "repository": "acme/shop", "base_commit": "a" * 40, "failing_tests": ["test_a.py::test_a"]}
    (issue,) = load_issues(instances(tmp_path, bug))
    assert (issue.id, issue.given, issue.fail_to_pass) == ("shop-7", True, ("test_a.py::test_a",))
    assert "- test_a.py::test_a" in issue.text


@each_row(
    ("change", "says"),
    [
        ({"base_commit": "main"}, "base_commit (40 digits)"),
        ({"repo": "../../etc"}, "instance 1 lacks one of these"),
        ({"instance_id": "../a"}, "instance 1 lacks one of these"),
        ({"FAIL_TO_PASS": "[]"}, "instance 1 lacks one of these"),
        ({"PASS_TO_PASS": "{}x"}, "its tests are not a list"),
    ],
)
def test_a_row_in_another_form_is_named(tmp_path, change, says):
    with pytest.raises(BadDataset) as refused:
        load_issues(instances(tmp_path, row(tmp_path / "repositories", **change)))
    assert says in str(refused.value)


def test_other_files_unknown_ids_and_missing_repositories_are_named(tmp_path):
    path = instances(tmp_path, row(tmp_path / "repositories"))
    with pytest.raises(BadDataset, match="has no instance nowhere"):
        load_issues(path, ["nowhere"])
    with pytest.raises(BadDataset, match="Parquet is not read"):
        load_issues(tmp_path / "a.parquet")
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(BadDataset, match="neither a list in JSON"):
        load_issues(tmp_path / "a.json")
    (issue,) = load_issues(path)
    assert repository_of(issue, tmp_path / "repositories").name == "acme__shop"
    with pytest.raises(BadDataset, match="clone it as acme__shop or acme/shop or shop"):
        repository_of(issue, tmp_path)
