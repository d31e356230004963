"""Tickets as people give them: pasted lines, blocks, addresses and CSV files."""

from typing import Any

import pytest

from projects.errors import BadInput, IllegalMove, NotAllowed
from projects.models import BacklogItem, Project, SiteEvent
from projects.services.backlog import items
from tests.factories import make_document, make_project, make_user
from tests.tables import each_row

pytestmark = pytest.mark.django_db


def paste(project: Project, text: str, by: Any = None) -> list[BacklogItem]:
    return items.add(project, items.from_text(text), by=by or project.created_by, source="pasted")


def keys(project: Project) -> list[str]:
    return list(items.open_items(project).values_list("key", flat=True))


def test_each_pasted_line_is_a_ticket(project: Project) -> None:
    paste(project, "CL-118 Move an appointment\n- [ ] Search is slow\n2. The week as CSV\n")
    found = [(item.key, item.title) for item in project.backlog.all()]
    assert found == [("CL-118", "Move an appointment"), ("B-2", "Search is slow"), ("B-3", "The week as CSV")]


def test_blocks_between_empty_lines_are_tickets_with_a_text(project: Project) -> None:
    paste(project, "Login fails\nWith a colon in it.\nTraceback\n\n[CL-7] Block a day")
    first, second = project.backlog.all()
    assert (first.title, first.text) == ("Login fails", "With a colon in it.\nTraceback")
    assert (second.key, second.title) == ("CL-7", "Block a day")


def test_an_address_is_kept_as_a_link_and_gives_the_key(project: Project) -> None:
    paste(project, "https://jira.example.org/browse/CL-9 Two doctors share one room")
    item = project.backlog.get()
    assert (item.key, item.link) == ("CL-9", "https://jira.example.org/browse/CL-9")
    assert item.title == "Two doctors share one room"


def test_a_link_alone_is_not_assigned_and_words_can_follow(project: Project) -> None:
    [item] = paste(project, "https://jira.example.org/browse/CL-9")
    with pytest.raises(BadInput, match="links are not read"):
        items.change(project, [item.pk], by=project.created_by, do="assign")
    paste(project, "CL-9 Two doctors share one room")
    again = project.backlog.get()
    assert (again.title, again.link) == ("Two doctors share one room", "https://jira.example.org/browse/CL-9")


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_csv_file_is_read_by_the_names_of_its_columns(project: Project, mark: str) -> None:
    text = mark.join(["Issue key", "Summary", "Estimate"]) + "\n" + mark.join(["CL-1", '"Two, or; three"', "1 h 30"])
    items.add(project, items.from_csv(text.encode()), by=project.created_by, source="csv")
    item = project.backlog.get()
    assert (item.key, item.title, item.minutes, item.source) == ("CL-1", "Two, or; three", 90, "csv")


@pytest.mark.parametrize("data", [b"", b"a,b\n1,2\n", b"\xff\xfe", b"title,link\nx,javascript:alert(1)\n", b"title\n"])
def test_a_csv_file_that_cannot_be_used_adds_nothing(project: Project, data: bytes) -> None:
    with pytest.raises(BadInput):
        items.add(project, items.from_csv(data), by=project.created_by, source="csv")
    assert not project.backlog.exists()


def test_secrets_are_not_kept(project: Project) -> None:
    [item] = paste(project, "Use AKIAIOSFODNN7EXAMPLE for the upload")
    assert "AKIA" not in item.title


def test_nothing_pasted_says_what_to_do(project: Project) -> None:
    with pytest.raises(BadInput, match="one per line"):
        paste(project, "  \n ")


@pytest.mark.parametrize(("text", "minutes"), [("30", 30), ("2h", 120), ("1 h 35", 95), ("1h 5 min", 65)])
def test_estimates_are_minutes_or_hours(text: str, minutes: int) -> None:
    assert items.minutes_of(text) == minutes


@each_row("text", ["", "0", "-3", "soon", "99 h", "1441"])
def test_what_is_no_estimate_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        items.minutes_of(text)


def test_buttons_order_tickets(project: Project) -> None:
    first, _, third = paste(project, "A-1 a\nA-2 b\nA-3 c")
    items.move(third, up=True, by=project.created_by)
    assert keys(project) == ["A-1", "A-3", "A-2"]
    items.move(first, up=True, by=project.created_by)
    items.move(first, up=False, by=project.created_by)
    assert keys(project) == ["A-3", "A-1", "A-2"]


def test_what_has_begun_keeps_its_place(project: Project) -> None:
    [item] = paste(project, "A-1 a")
    item.document = make_document(project)
    item.save()
    with pytest.raises(IllegalMove):
        items.move(item, up=True, by=project.created_by)
    with pytest.raises(BadInput, match="key of its own"):
        paste(project, "A-1 other words")


def test_many_are_changed_at_once_and_the_trail_says_so(project: Project) -> None:
    pks = [item.pk for item in paste(project, "A-1 a\nA-2 b")]
    for do, value in (("estimate", "45"), ("autonomy", "gates_only"), ("assign", "")):
        items.change(project, pks, by=project.created_by, do=do, value=value)
    for item in project.backlog.all():
        assert (item.minutes, item.autonomy, item.assigned_by) == (45, "gates_only", project.created_by)
    actions = SiteEvent.objects.filter(subject=project.slug).values_list("action", flat=True)
    assert {"backlog.added", "backlog.estimate", "backlog.autonomy", "backlog.assign"} <= set(actions)
    items.change(project, pks[:1], by=project.created_by, do="leave_out")
    assert keys(project) == ["A-2"]


def test_only_managers_and_architects_change_a_backlog(project: Project) -> None:
    [item] = paste(project, "A-1 a", by=make_user(role="manager", project=project))
    developer = make_user(role="developer", project=project)
    for attempt in (
        lambda: paste(project, "A-2 b", by=developer),
        lambda: items.change(project, [item.pk], by=developer, do="assign"),
        lambda: items.move(item, up=True, by=developer),
    ):
        with pytest.raises(NotAllowed):
            attempt()


def test_tickets_of_another_project_are_not_changed(project: Project) -> None:
    [item] = paste(project, "A-1 a")
    other = make_project()
    with pytest.raises(BadInput):
        items.change(other, [item.pk], by=other.created_by, do="assign")
