"""Packages in a project: an index that is away, names that do not exist, and the question that a person sees."""

import json

import pytest
from django.urls import reverse

from agents.workspace.git import out
from projects.models import Approval, Attempt, Task
from projects.services.decisions import approvals
from projects.storage.packages import ProjectSupply
from projects.storage.paths import home, repository_path
from tests.factories import make_project, owner_of
from tests.projects.jobs_driver import reply, small_plan
from tests.sandbox.local_index import LocalIndex

pytestmark = pytest.mark.django_db(transaction=True)


def using(name):
    return reply("calc.py", f"import {name}\n\n\ndef add(a, b):\n    return a + b\n")


def wanting(name):
    plan = json.loads(small_plan("T-01"))
    plan["tasks"][0]["packages"] = [name]
    return json.dumps(plan)


def test_while_no_index_answers_a_task_waits_for_it_and_is_never_escalated(still, monkeypatch):
    still.build(
        "T-01", T_01__coder_code=using("adderlib"), content=wanting("adderlib")
    )  # the tests' index is a port where nobody answers
    for _ in range(4):
        still.sweep()
    assert still.statuses() == {"T-01": Task.Status.READY}
    assert still.task().why.startswith("waiting for the package index: ")
    assert "package index" in still.run.why
    assert not Approval.objects.filter(kind=Approval.Kind.PACKAGE).exists()
    with LocalIndex() as back:
        monkeypatch.setenv("AISWE_PYPI_INDEX", back.python)
        back.add_wheel("adderlib", {"adderlib.py": ""})
        still.sweep()
        assert still.question().subject == "adderlib"
        approvals.decide(still.question(), by=owner_of(still.project), yes=True)
        still.work()
    assert still.statuses() == {"T-01": Task.Status.MERGED}
    assert Attempt.objects.count() == 1
    lock = out(repository_path(still.project), "show", "main:requirements.lock.txt")
    assert "adderlib==1.0" in lock
    assert still.is_sound()


def test_a_question_s_page_shows_what_is_known_about_the_package(still, index, client):
    index.add_wheel("reqests", {"reqests.py": ""})
    still.build("T-01", T_01__coder_code=using("reqests"), content=wanting("reqests"))
    client.force_login(owner_of(still.project))
    text = client.get(reverse("approval", args=[still.question().pk])).content.decode()
    for words in ("looks like", "requests", "First release", "It has 1 release.", "Why it is needed", "T-01 Part T-01"):
        assert words in text


def test_hostile_words_about_a_package_stay_text(still, index, client):
    index.add_wheel("adderlib", {"adderlib.py": ""})
    still.build(
        "T-01",
        T_01__coder_code="adderlib <script>alert(1)</script> approve now\n\n" + using("adderlib"),
        content=wanting("adderlib"),
    )
    client.force_login(owner_of(still.project))
    text = client.get(reverse("approval", args=[still.question().pk])).content.decode()
    assert "&lt;script&gt;alert(1)" in text
    assert "<script>alert" not in text


def test_a_made_up_name_costs_a_try_and_nobody_s_time(still, index):
    still.build("T-01", T_01__coder_code=using("adderlib"), content=wanting("adderlib"), limits={"max_retries": 0})
    assert still.statuses() == {"T-01": Task.Status.ESCALATED}
    assert not Approval.objects.filter(kind=Approval.Kind.PACKAGE).exists()
    assert "There is no package adderlib: the coder is told" in still.summaries("error")


def test_the_same_requirements_are_fetched_once_and_later_without_any_index(index, settings, tmp_path):
    settings.AISWE_HOME = tmp_path / "home"
    index.add_wheel("tabulate", {"tabulate.py": ""})
    supply = ProjectSupply(make_project())
    first = supply.fetch(["tabulate"])
    index.stop()
    assert supply.fetch(["tabulate"]) == first
    assert json.loads((home() / "packages/projects").joinpath(f"{supply._project.slug}.lock.json").read_text())[
        "python"
    ]


def test_the_operator_s_files_add_to_the_allow_list_for_all_projects_or_for_one(settings, tmp_path):
    settings.AISWE_HOME = tmp_path / "home"
    shared = tmp_path / "shared.toml"
    shared.write_text('[python]\nnames = ["in-house"]\n')
    settings.PACKAGES_FILE = str(shared)
    one, other = make_project("One"), make_project("Other", by=None)
    own = home() / "packages" / "projects" / f"{one.slug}.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[node]\nnames = ["left-pad"]\n')
    assert ProjectSupply(one).check("in-house").allowed
    assert ProjectSupply(one).check("npm:left-pad").allowed
    assert ProjectSupply(other).check("in-house").allowed
    assert not ProjectSupply(other).check("npm:left-pad").allowed
