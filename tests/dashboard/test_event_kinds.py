"""A new kind of event is one class: the stream, its filters, the inspector, the API and the page on events know it."""

from __future__ import annotations  # the reference pages read the types of an event as text

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from agents.events.base import KINDS, EventKind, Urgency, kind
from dashboard.live import stream
from projects.models import Run
from projects.services.audit.events import emit
from scripts import reference_pages
from tests.factories import bare_run, owner_of
from tests.rows import emit as emit_row
from tests.texts import shows

pytestmark = pytest.mark.django_db


@pytest.fixture
def toy() -> Iterator[type[EventKind]]:
    @kind("toy.spun", "repeat", "spinning top", "ok", presets=("needs",), urgency=Urgency.FAILURE, panels=("run",))
    class ToySpun(EventKind):
        """A toy was spun."""

        turns: int
        colours: list[str]
        wobble: float | None = None
        role: str = "tester"

    yield ToySpun
    del KINDS["toy.spun"]


@pytest.fixture
def run(toy: type[EventKind]) -> Run:
    made = bare_run()
    emit(made.pk, toy(summary="The top spins", turns=3, colours=["red", "<b>blue</b>"]))
    emit_row(made.pk, "cmd", summary="pytest")
    made.refresh_from_db()
    return made


def test_the_stream_shows_it_with_its_look_announces_it_and_renews_its_panels(run: Run) -> None:
    frame = stream.frame(run.pk, 0, stream.Filter())
    assert frame is not None
    row = frame["rows"].partition("</article>")[0]
    shows(row, "tone-ok", "#i-repeat", "spinning top: ", "tester", "The top spins")
    assert frame["say"] == [{"p": "polite", "w": 2, "t": "The top spins"}]
    assert 'id="run-status"' in frame["ui"]


@pytest.mark.parametrize("query", [{"type": "toy"}, {"preset": "needs"}, {"agent": "tester"}])
def test_filters_find_it(run: Run, query: dict[str, str]) -> None:
    rows = stream.Filter.read(query).apply(stream.events_of(run))
    assert [row.type for row in rows] == ["toy.spun"]


def test_the_pages_offer_its_family_and_the_inspector_its_payload(run: Run, client: Client) -> None:
    client.force_login(owner_of(run.project))
    assert "<option>toy</option>" in "".join(client.get(reverse("run", args=[run.pk])).content.decode().split("\n"))
    text = client.get(reverse("run-inspect", args=[run.pk, 1])).content.decode()
    shows(text, "<dt>turns</dt>", "&lt;b&gt;blue&lt;/b&gt;")
    assert "<b>blue" not in text
    assert "wobble" not in text


def test_the_api_and_the_page_on_events_describe_it(toy: type[EventKind]) -> None:
    assert "| `toy.spun` | A toy was spun. | `turns` integer<br>" in reference_pages.events()
    assert "`wobble?` number or null" in reference_pages.events()


def test_a_stored_type_is_no_file_name(client: Client) -> None:
    run = bare_run()
    emit_row(run.pk, "../../base", summary="odd", payload={"a": 1})
    client.force_login(owner_of(run.project))
    text = client.get(reverse("run-inspect", args=[run.pk, 1])).content.decode()
    assert "<dt>a</dt>" in text
    assert "<html" not in text
