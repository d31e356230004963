"""Importing code from the page, and the baseline page."""

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from projects.models import Approval, Baseline, Project
from tests.tables import each_row
from tests.texts import shows

pytestmark = pytest.mark.django_db


@pytest.fixture
def anna(settings: Any, tmp_path: Path, client: Client) -> Client:
    settings.AISWE_HOME = tmp_path / "home"
    client.force_login(User.objects.create_superuser("anna"))
    return client


def archive(name: str = "shop-1.0.zip") -> SimpleUploadedFile:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("shop-1.0/shop.py", "A = 1\n")
    return SimpleUploadedFile(name, file.getvalue())


def test_an_uploaded_archive_becomes_a_project_whose_tests_a_worker_runs(
    anna: Client, enqueued: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        answer = anna.post(reverse("project-import"), {"archive": archive(), "name": "Shop"})
    project = Project.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, reverse("baseline", args=[project.pk]))
    row = Baseline.objects.get()
    assert row.status == "measuring"
    assert ("projects.jobs.measure_baseline", (row.pk,)) in enqueued
    assert b"Measuring" in anna.get(answer["Location"]).content


@each_row(
    ("given", "says"),
    [
        ({}, "exactly one"),
        ({"address": "https://a.example/b", "folder": "/tmp"}, "exactly one"),
        ({"address": "https://anna:sesame@example.org/a"}, "holds credentials"),
        ({"address": "file:///etc/passwd"}, "Only https and ssh"),
        ({"folder": "/etc"}, "AISWE_IMPORT_ROOTS"),
        ({"archive": SimpleUploadedFile("x.zip", b"no archive")}, "cannot be unpacked"),
    ],
)
def test_what_cannot_be_imported_makes_nothing_and_says_why(anna: Client, given: dict[str, Any], says: str) -> None:
    answer = anna.post(reverse("project-import"), given)
    assert (answer.status_code, Project.objects.count()) == (422, 0)
    assert says in answer.content.decode()


def test_the_baseline_page_shows_what_was_found_and_escapes_it(anna: Client) -> None:
    project = Project.objects.create(name="Shop", slug="shop")
    tests = {
        "passed": 3,
        "failed": 1,
        "errors": 0,
        "skipped": 2,
        "failing": {"tests/test_a.py::test_<b>": "<script>"},
        "flickering": ["tests/test_a.py::test_now"],
    }
    layout = {"language": "python", "style": "src", "test_paths": ["tests"], "conftests": [], "helpers": []}
    Baseline.objects.create(
        project=project, commit="a" * 40, status="unusable", problem="<img src=x>", tests=tests, layout=layout
    )
    shown = anna.get(reverse("baseline", args=[project.pk])).content.decode()
    for words in ("3 passed, 1 failed", "1 fail already", "test_&lt;b&gt;", "&lt;script&gt;", "1 pass only sometimes"):
        assert words in shown, words
    assert "<img" not in shown
    assert "<dt>Limits</dt>" not in shown, "no limit is known of it"
    assert anna.post(reverse("baseline-accept", args=[project.pk])).status_code == 302
    assert Baseline.objects.get().status == "accepted"


def test_how_tests_are_run_can_be_changed_and_wrong_words_are_refused(anna: Client, enqueued: list[Any]) -> None:
    anna.post(reverse("project-import"), {"archive": archive()})
    page = reverse("baseline", args=[Project.objects.get().pk])
    given = {"edit": "1", "arguments": "-m 'not slow' tests", "python_path": "lib, src/", "suite_seconds": "300"}
    given |= {"services": "redis"}
    assert anna.post(page, given).status_code == 302
    edited = Baseline.objects.first().setup["edited"]  # type: ignore[union-attr]  # it was just made
    services = [{"kind": "redis"}]
    words = ["-m", "not slow", "tests"]
    assert edited == {
        "arguments": words,
        "python_path": ["lib", "src"],
        "suite_seconds": 300.0,
        "services": services,
    }
    shown = anna.get(page).content.decode()
    assert "not slow" in shown
    assert re.search(r'value="redis"[^>]* checked', shown)
    for wrong in ({"python_path": "../x"}, {"python_path": "/etc"}, {"suite_seconds": "0"}, {"arguments": "'"}):
        assert anna.post(page, {"edit": "1", **wrong}).status_code == 422
    assert Baseline.objects.count() == 2


def test_the_baseline_page_renews_itself_while_the_tests_run_and_waits_for_an_answer_otherwise(anna: Client) -> None:
    project = Project.objects.create(name="Shop", slug="shop")
    Baseline.objects.create(project=project, commit="a" * 40, problem="Waits for an answer about packages: outcome.")
    address = reverse("baseline", args=[project.pk])
    shown = anna.get(address, headers={"HX-Request": "true"}).content.decode()
    assert [words in shown for words in ("every 3s", "Go on without its tests", "<html")] == [True, False, False]
    Approval.objects.create(project=project, kind=Approval.Kind.PACKAGE, title="Install outcome?", subject="x")
    shown = anna.get(address).content.decode()
    assert all(words in shown for words in ("Waiting for you", "Install outcome?", "Go on without its tests"))
    assert not any(words in shown for words in ("every 3s", "Limits")), "limits that nobody measured are not shown"


def test_a_project_shows_how_the_imported_code_stands(anna: Client) -> None:
    project = Project.objects.create(name="Shop", slug="shop")
    Baseline.objects.create(
        project=project, commit="a" * 40, status="ready", tests={"passed": 3, "failing": {"tests/a.py::test_b": "no"}}
    )
    shown = " ".join(anna.get(reverse("project", args=[project.pk])).content.decode().split())
    assert "3 tests pass, 1 fail and do not count" in shown


def test_a_question_about_several_packages_shows_what_is_known_of_each(anna: Client) -> None:
    facts = {"aaa": {"releases": 7, "first": "2020-01-02", "index": "https://i.example"}, "bbb": {"problem": "unknown"}}
    payload = {"packages": facts, "ecosystem": "Python"}
    project = Project.objects.create(name="Shop", slug="shop")
    question = Approval.objects.create(
        project=project, kind=Approval.Kind.PACKAGE, title="Install?", subject="aaa, bbb", payload=payload
    )
    page = " ".join(anna.get(reverse("approval", args=[question.pk])).content.decode().split())
    shows(page, "2020-01-02", "https://i.example", "unknown")
    assert "Why it is needed" not in page
