"""The measurement of reviews: one fault in a changed function, and what counts as finding it."""

from __future__ import annotations

import json

import pytest

from measure.corpora.review import check as reviewing
from measure.corpora.review.check import judged, prepare, score

OLD = {"a.py": b"def one(x):\n    return x\n\n\ndef two(x):\n    return x > 1\n", "tests/test_a.py": b"X = 1 > 2\n"}
NEW = {**OLD, "a.py": b'def one(x):\n    """It is > 0."""\n    return x > 0 and x\n\n\ndef two(x):\n    return x > 1\n'}


@pytest.fixture
def planted(tmp_path, monkeypatch):
    monkeypatch.setattr(reviewing, "fetch", lambda client, name, version: OLD if version == "1" else NEW)
    return tmp_path / "out", prepare(tmp_path / "out", 3, ["pack 1 2"])


def test_a_fault_stands_in_a_function_that_changed_and_is_part_of_the_change_alone(planted):
    folder, (fault,) = planted
    assert (fault.path, fault.line, fault.in_changed_function) == ("a.py", 3, True)
    assert fault.before == "return x > 0 and x" != fault.after
    told = reviewing._git(folder / "pack", "show", "change:a.py")
    assert fault.after in told
    assert "return x > 1" in told
    assert reviewing._git(folder / "pack", "show", "main:a.py") == OLD["a.py"].decode()


def test_equal_seeds_plant_equal_faults(planted, tmp_path):
    assert prepare(tmp_path / "again", 3, ["pack 1 2"]) == planted[1]


def test_a_remark_near_the_fault_finds_it_and_others_are_counted(planted):
    folder, _ = planted
    near, far = {"path": "a.py", "line": 5}, {"path": "a.py", "line": 7}
    fault = json.loads((folder / "planted.json").read_text())[0]
    assert judged(fault, [near, far]) == {"found": True, "by": [near], "others": [far]}
    (folder / "pack.result.json").write_text(json.dumps({"findings": [far], "pieces": 1}))
    came = score(folder)
    assert (came["requests"], came["found"], came["other_remarks"]) == (1, 0, 1)
