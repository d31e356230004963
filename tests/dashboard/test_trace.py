"""The page of the matrix: from the sentence to the line and back in two clicks, filters, and the file."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from projects.models import Finding, Task
from tests.dashboard.story import Story, finish
from tests.factories import make_finding, make_requirement

pytestmark = pytest.mark.django_db


@pytest.fixture
def story(story_with_code: Story) -> Story:
    return story_with_code


def read(client: Client, where: str) -> str:
    answer = client.get(where.partition("#")[0].replace("&amp;", "&"))
    assert answer.status_code == 200, where
    return answer.content.decode()


def links(text: str) -> list[str]:
    return re.findall(r'href="([^"]+)"', text)


def test_two_clicks_lead_from_a_line_of_the_document_to_the_merged_line_and_back(story: Story, client: Client) -> None:
    requirement = story.document.requirements.get(key="FR-01")
    source = read(client, reverse("requirements", args=[story.project.pk]))
    first = next(link for link in links(source) if link.endswith(f"/trace#T-{requirement.pk}"))
    matrix = read(client, first)
    row = matrix[matrix.index(f'id="T-{requirement.pk}"') :].split("</tr>")[0]
    code = next(link for link in links(row) if "todos.py#L" in link and "tests" not in link)
    file = read(client, code)
    assert f'id="{code.partition("#")[2]}"' in file
    back = next(link for link in links(file) if "/reqs?v=" in link)
    assert back.endswith("#L3")
    assert f'id="{back.partition("#")[2]}"' in read(client, back)


def test_every_link_of_the_matrix_opens(story: Story, client: Client) -> None:
    text = read(client, reverse("trace", args=[story.project.pk]))
    for link in set(links(text[text.index("<main") :])):
        assert client.get(link.partition("#")[0].replace("&amp;", "&") or "/").status_code in (200, 302), link


def test_filters_and_next_gap_are_addresses(story: Story, client: Client) -> None:
    finish(story)
    for key in ("X-1", "X-2"):
        make_requirement(story.document, key, kind="goal")
    where = reverse("trace", args=[story.project.pk])
    text = read(client, f"{where}?show=gaps")
    assert "X-1" in text
    gaps = re.findall(r'<tr id="T-(\d+)"', text)
    seen = []
    for _ in gaps:
        link = next(link for link in links(text) if "gap=" in link)
        seen.append(link.partition("#T-")[2])
        text = read(client, where + link)
        assert f'id="T-{seen[-1]}" class="here"' in text
    assert seen == gaps, "one after the other, then from the first again"
    assert "<tr id=" not in read(client, f"{where}?show=inferred")


def test_the_heading_is_the_answer(story: Story, client: Client) -> None:
    finish(story, whole=True)
    Finding.objects.update(state="fixed")
    from projects.models import Attempt

    Attempt.objects.update(tests={})
    assert "2 of 2 requirements are proven" in read(client, reverse("trace", args=[story.project.pk]))


def test_the_csv_is_a_download(story: Story, client: Client) -> None:
    answer = client.get(reverse("trace-csv", args=[story.project.pk]))
    assert answer["Content-Disposition"] == 'attachment; filename="todo-api-trace.csv"'
    assert answer.content.startswith(b"requirement,")


def test_text_of_documents_and_files_stays_text(story: Story, client: Client) -> None:
    make_requirement(story.document, "X-1", text="<script>alert(1)</script>", author_key="<b>")
    text = read(client, reverse("trace", args=[story.project.pk]))
    assert "<script>alert(1)" not in text
    assert "<b></b>" not in text


def test_the_page_takes_the_same_number_of_queries_for_few_and_for_many_rows(story: Story, client: Client) -> None:
    where = reverse("trace", args=[story.project.pk])

    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            read(client, where)
        return len(seen)

    queries()
    few = queries()
    for number in range(15):
        task = Task.objects.create(run=story.run, ordinal=100 + number, key=f"X-{number}", title="more")
        task.requirements.add(make_requirement(story.document, f"X-{number}"))
        make_finding(task)
    assert queries() == few
