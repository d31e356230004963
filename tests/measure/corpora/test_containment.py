"""Containment's figures are computed right, and the held-out sets are as large and as clean as they are said to be."""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from agents.languages.python import syntax
from measure.corpora.containment import commands as commands
from measure.corpora.containment import gates as gates
from measure.corpora.containment import secrets as secrets_part
from measure.corpora.containment.shares import HELDOUT, Share, given, share_figure
from measure.corpora.containment.weaknesses import MUST_SHOW, category, related
from measure.corpora.heldout.lookalikes import CLASSES, EACH, clean_files, lookalikes
from measure.corpora.heldout.secret_kinds import KINDS, make
from measure.corpora.heldout.secrets import PLACES, Sham, kinds, secrets
from measure.figures import CannotMeasure, Figure


def rows(figures: list[Figure]) -> dict[str, float]:
    return {figure.name.strip(): figure.measured.median for figure in figures}


def test_a_share_comes_with_its_wilson_interval():
    low, high = Share(95, 100).interval()
    assert (round(low, 1), round(high, 1)) == (88.8, 97.8)
    assert Share(0, 10).interval()[0] == 0.0
    assert Share(10, 10).interval()[1] == pytest.approx(100)
    assert share_figure("x", Share(1, 4)).note == "1 of 4, [4.6–69.9 %]"
    with pytest.raises(CannotMeasure, match="empty"):
        share_figure("x", Share(0, 0))


@for_all(st.integers(0, 500), st.integers(1, 500))
def test_an_interval_holds_its_share(hits: int, total: int):
    share = Share(min(hits, total), total)
    low, high = share.interval()
    assert 0 <= low <= share.percent + 1e-9
    assert share.percent - 1e-9 <= high <= 100


def test_malicious_commands_are_counted_as_stopped_by_category():
    pairs = [("a", "deny me"), ("a", "allow me"), ("b", "approve me"), ("b", "deny me too")]
    figures = commands.malicious_figures("all", pairs, lambda command: command.split()[0])
    assert rows(figures) == {"all: denied or held": 75.0, "denied outright": 50.0, "a": 50.0, "b": 100.0}


def test_ordinary_commands_are_counted_as_denied_and_as_held():
    figures = commands.ordinary_figures("some", ["allow", "allow", "deny", "approve"], lambda command: command)
    assert rows(figures) == {"some: denied": 25.0, "some: held for approval": 25.0}


def test_headings_name_the_category_and_remarks_and_files_without_commands_are_named(tmp_path: Path):
    file = tmp_path / "set.txt"
    file.write_text("# a remark\n# category: first\nls\n\n# category: second\npwd\n")
    assert commands.read_set(file) == [("first", "ls"), ("second", "pwd")]
    (tmp_path / "none.txt").write_text("\n\n")
    with pytest.raises(CannotMeasure, match=r"none\.txt holds no command"):
        commands.read_lines(tmp_path / "none.txt")
    with pytest.raises(CannotMeasure, match=r"gone\.txt cannot be read"):
        commands.read_lines(tmp_path / "gone.txt")


def test_a_command_that_a_test_of_the_firewall_has_is_known(tmp_path: Path):
    (tmp_path / "tests/agents/firewall").mkdir(parents=True)
    (tmp_path / "tests/agents/firewall/test_x.py").write_text('BAD = ["rm -rf /"]\n')
    assert "rm -rf /" in commands.own_examples(tmp_path)


def test_insecure_files_are_counted_in_all_by_their_weakness_and_by_category():
    files = ["CWE-022_a.py", "CWE-022_b.py", "CWE-601_c.py"]
    found = gates.Found(gates={"CWE-022_a.py": {22}, "CWE-601_c.py": {79}}, bandit={"CWE-601_c.py": {601}})
    figures = gates.insecure_figures("set", files, found)
    assert rows(figures) == {
        "set: found": pytest.approx(200 / 3),
        "… as the weakness it is": pytest.approx(100 / 3),
        "open redirect": 100.0,
        "path traversal": 50.0,
    }
    assert figures[0].baseline is not None
    assert figures[0].baseline.median == pytest.approx(100 / 3)


def test_bandit_stands_beside_python_only():
    figures = gates.insecure_figures("set", ["CWE-078_a.js"], gates.Found({"CWE-078_a.js": {78}}, {}))
    assert all(figure.baseline is None for figure in figures)
    assert rows(figures)["set: found"] == 100.0


def test_a_safe_file_with_a_finding_counts_as_blocked():
    figure = gates.blocked_figure("safe", ["a.py", "b.py"], gates.Found({"a.py": {20}}, {}))
    assert figure.measured.median == 50.0


def test_reference_solutions_are_written_one_a_file_and_broken_ones_are_counted(tmp_path: Path):
    tasks = [
        {"task_id": "T/1", "prompt": "def f():\n", "canonical_solution": "    return 1\n"},
        {"task_id": "T/2", "prompt": "def f(:\n", "canonical_solution": "    return 1\n"},
        {"task_id": "T/3", "text": "no solution"},
    ]
    (tmp_path / "tasks.jsonl").write_text("\n".join(json.dumps(task) for task in tasks))
    assert gates.write_references(tmp_path, tmp_path / "out") == 1
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["T_1.py"]
    (tmp_path / "none").mkdir()
    with pytest.raises(CannotMeasure, match="canonical_solution"):
        gates.write_references(tmp_path / "none", tmp_path / "out2")


def test_bandit_alone_reports_medium_and_up_only(tmp_path: Path):
    (tmp_path / "a.py").write_text("import yaml\nyaml.load(x)\n")
    (tmp_path / "b.py").write_text("assert 1\n")
    assert set(gates.bandit_alone(tmp_path)) == {"a.py"}


def test_an_unreadable_scan_is_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gates.sys, "executable", "/bin/false")
    with pytest.raises(CannotMeasure, match="bandit ended with 1"):
        gates.bandit_alone(tmp_path)


def test_a_weakness_has_a_category_and_relatives():
    assert [category(number) for number in (22, 601, 90, 643, 501)] == list(MUST_SHOW)
    assert category(99999) == "others"
    assert 94 in related(1336)
    assert 1336 in related(94)


def test_a_path_comes_from_the_option_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AISWE_BENCH_NL2BASH", raising=False)
    assert given(Namespace(nl2bash=None), "nl2bash") is None
    monkeypatch.setenv("AISWE_BENCH_NL2BASH", str(tmp_path))
    assert given(Namespace(nl2bash=None), "nl2bash") == tmp_path
    with pytest.raises(CannotMeasure, match="--nl2bash, does not exist"):
        given(Namespace(nl2bash=str(tmp_path / "gone")), "nl2bash")


def test_recall_is_averaged_by_kind_and_look_alikes_are_alarms(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(secrets_part, "reported", lambda folder: {"1/a.py", "2/a.py", "4/a.py"})
    shams = [Sham("x", "1/a.py", ""), Sham("x", "2/a.py", ""), Sham("y", "3/a.py", ""), Sham("y", "4/a.py", "")]
    assert rows(secrets_part.recall_figures([*shams, Sham("z", "5/a.py", "")])) == {
        "secrets: recall averaged by kind": 50.0,
        "files with a secret": 60.0,
    }
    assert secrets_part.lookalike_figure(shams).measured.median == 75.0


def test_the_secrets_gate_sees_a_sham_and_not_its_look_alike():
    sham = next(sham for sham in secrets() if sham.kind == "github personal token")
    like = next(sham for sham in lookalikes() if sham.kind == "node environment")
    assert rows(secrets_part.recall_figures([sham]))["files with a secret"] == 100.0
    assert secrets_part.lookalike_figure([like]).measured.median == 0.0


def test_the_sets_of_commands_are_as_large_as_promised():
    malicious = commands.read_set(HELDOUT / "commands" / "malicious.txt")
    benign = commands.read_set(HELDOUT / "commands" / "benign.txt")
    assert len(malicious) >= 300
    assert len({name for name, _ in malicious}) >= 20
    assert len(benign) >= 500
    texts = [text for _, text in malicious + benign]
    assert len(texts) == len(set(texts))


def test_the_sets_of_code_are_as_large_as_promised_and_parse():
    insecure = sorted((HELDOUT / "python").glob("CWE-*.py"))
    safe = sorted((HELDOUT / "python" / "safe").glob("CWE-*.py"))
    assert len(insecure) >= 120
    assert len(safe) >= 60
    counts = Counter(category(int(file.name[4:].split("_")[0])) for file in insecure)
    assert all(counts[name] >= 12 for name in MUST_SHOW)
    for file in insecure + safe:
        syntax.parse(file.read_text())
    assert len(list((HELDOUT / "javascript").glob("CWE-*"))) >= 50
    assert len(list((HELDOUT / "javascript" / "safe").glob("CWE-*"))) >= 20


def test_the_sets_of_secrets_are_as_large_as_promised_and_the_same_each_time():
    shams = list(secrets())
    assert len(set(kinds())) == len(kinds()) >= 110
    assert len(shams) == PLACES * len(kinds())
    assert len({sham.path for sham in shams}) == len(shams)
    assert shams == list(secrets())
    assert shams != list(secrets(2))
    likes = list(lookalikes())
    assert len(likes) == EACH * len(CLASSES)
    assert likes == list(lookalikes())
    assert len(clean_files(most=1_000)) == 1_000


def test_no_value_of_a_pattern_is_left_open():
    from random import Random

    assert all("{" not in make(kind.pattern, Random(1)) for kind in KINDS)


def test_nothing_that_the_secrets_gate_reports_is_written_in_the_generators(tmp_path: Path):
    for file in HELDOUT.glob("*.py"):
        (tmp_path / file.name).write_text(file.read_text())
    assert secrets_part.reported(tmp_path) == set()
