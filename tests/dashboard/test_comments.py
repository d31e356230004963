"""The diff under review: comments below their lines by links and forms alone, ticks that last as long as the change."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from projects.models import LineComment
from projects.services.work import attempts
from tests.dashboard.story import DIFF, Story
from tests.rows import fresh
from tests.tables import each_row
from tests.texts import shows

pytestmark = pytest.mark.django_db


def write(owner: Client, story: Story, **more: str) -> int:
    data = {"path": "app/run.py", "line": "4", "text": "Pass a list.", **more}
    return owner.post(reverse("comment-add", args=[story.stuck.pk]), data).status_code


@pytest.mark.parametrize("place", ["task", "gate"])
def test_a_line_opens_a_form_below_it_without_a_script(page: Callable[..., str], story: Story, place: str) -> None:
    text = page(place, story.stuck.pk)
    assert 'href="?comment=1.3#comment"' in text
    assert 'id="comment"' not in text
    text = page(place, story.stuck.pk, query="?comment=1.3")
    assert "Comment on app/run.py:4" in " ".join(text.split())
    assert f'name="place" value="{place}"' in text


@each_row("odd", ["9.9", "1.999", "x", "-1.0", "1", "0.0", "1.99999999999999999999"])
def test_an_address_of_no_line_opens_nothing(page: Callable[..., str], story: Story, odd: str) -> None:
    assert 'id="comment"' not in page("task", story.stuck.pk, query=f"?comment={odd}")


def test_a_comment_stands_below_its_line_and_goes_with_the_others(owner: Client, story: Story) -> None:
    assert write(owner, story) == 302
    assert write(owner, story, path="app/todos.py", line="2", removed="1", text="Keep this.") == 302
    text = " ".join(owner.get(reverse("task", args=[story.stuck.pk])).content.decode().split())
    shows(text, "Your draft: 2 comments", "Pass a list.")
    assert LineComment.objects.get(line=2).quote == "    return title"
    answer = owner.post(reverse("comments-send", args=[story.stuck.pk]), follow=True)
    assert "as one request" in answer.content.decode()
    assert fresh(story.stuck).status == "ready"
    shows(story.stuck.note, "subprocess.call(f", "Keep this.")


def test_the_quote_is_the_changes_own_line_whatever_is_posted(owner: Client, story: Story) -> None:
    write(owner, story, quote="something else")
    assert "subprocess.call" in LineComment.objects.get().quote


@each_row(
    "wrong", [{"line": "99"}, {"line": ""}, {"line": "x"}, {"path": "app/other.py"}, {"removed": "1"}, {"text": " "}]
)
def test_a_line_that_is_not_there_takes_no_comment(owner: Client, story: Story, wrong: dict[str, str]) -> None:
    assert write(owner, story, **wrong) == 422
    assert not LineComment.objects.exists()


def test_a_draft_is_dropped(owner: Client, story: Story) -> None:
    write(owner, story)
    one = LineComment.objects.get()
    assert owner.post(reverse("comment-discard", args=[story.stuck.pk]), {"comment": one.pk}).status_code == 302
    assert not LineComment.objects.exists()


def test_a_comment_whose_line_went_away_is_still_shown(owner: Client, story: Story) -> None:
    write(owner, story)
    attempts.start_attempt(story.stuck, number=4, strategy="repair")
    attempts.finish_attempt(story.stuck, number=4, outcome="failed", diff=DIFF)
    text = " ".join(owner.get(reverse("task", args=[story.stuck.pk])).content.decode().split())
    shows(text, "is not in the newest change", "Pass a list.")


def test_a_file_stays_ticked_until_its_change_is_another(owner: Client, story: Story) -> None:
    from dashboard.views.comments import change_of

    file = next(one for one in change_of(story.stuck)[0] if one.path == "app/run.py")
    address, page = reverse("file-reviewed", args=[story.stuck.pk]), reverse("task", args=[story.stuck.pk])
    assert owner.post(address, {"path": file.path, "digest": "old", "read": "1"}).status_code == 409
    assert owner.post(address, {"path": file.path, "digest": file.digest, "read": "1"}).status_code == 302
    assert "1 of 2 files reviewed" in " ".join(owner.get(page).content.decode().split())
    again = story.stuck.attempts.get(number=2).diff
    attempts.start_attempt(story.stuck, number=4, strategy="repair")
    attempts.finish_attempt(story.stuck, number=4, outcome="failed", diff=again.replace("a to-do", "one to-do"))
    assert "1 of 2 files reviewed" in " ".join(owner.get(page).content.decode().split()), "another file changed"
    attempts.start_attempt(story.stuck, number=5, strategy="repair")
    attempts.finish_attempt(story.stuck, number=5, outcome="failed", diff=again.replace("shell=True", "shell=False"))
    assert "0 of 2 files reviewed" in " ".join(owner.get(page).content.decode().split())


def test_who_may_not_comment_sees_the_diff_without_links(story: Story, client: Client) -> None:
    from tests.factories import make_user

    client.force_login(make_user("vera", role="viewer", project=story.project))
    text = client.get(reverse("task", args=[story.stuck.pk]) + "?comment=1.3").content.decode()
    assert "subprocess.call" in text
    assert "?comment=" not in text
    assert 'id="comment"' not in text
