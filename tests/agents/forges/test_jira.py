"""Jira Cloud's documented routes, against a server of our own."""

import re

import pytest

from agents.forges.contract import ForgeRefused, NotThere
from agents.forges.jira import Jira
from agents.workspace.fetching import RemoteAccess
from tests.ticket_server import TOKEN, WHO, bullets, document, heading


def test_a_ticket_comes_with_text_criteria_of_a_field_of_its_own_files_and_estimate(site, jira) -> None:
    site.add(
        "SHOP-12",
        "Two coupons",
        document("Only one is taken.", heading("Why"), bullets("people ask")),
        customfield_10042=document(bullets("both count")),
        labels=["cart"],
        timeoriginalestimate=5_400,
        files={"notes.md": b"# Notes"},
    )
    found = jira.ticket("SHOP-12")
    assert (found.key, found.title, found.labels, found.minutes) == ("SHOP-12", "Two coupons", ("cart",), 90)
    assert found.text == "Only one is taken.\n\n### Why\n\n- people ask\n\n## Acceptance criteria\n\n- both count"
    assert (found.author.login, found.state, found.web_address) == (
        "Jane Doe",
        "open",
        f"{site.address}/browse/SHOP-12",
    )
    assert found.updated_at is not None
    assert jira.attachment(found.attachments[0], 100) == b"# Notes"
    assert "/rest/api/3/attachment/content/10000?redirect=false" in site.asked[-1][0]


def test_a_query_is_followed_through_all_its_pages(site, jira) -> None:
    for number in range(1, 6):
        site.add(f"SHOP-{number}", f"Ticket {number}")
    assert [one.key for one in jira.tickets("project = SHOP")] == [f"SHOP-{number}" for number in range(1, 6)]
    assert [one.key for one in jira.tickets("project = SHOP", most=3)] == ["SHOP-1", "SHOP-2", "SHOP-3"]


def test_a_comment_is_plain_text_and_a_step_changes_the_state(site, jira) -> None:
    site.add("SHOP-12", "Two coupons")
    jira.comment("SHOP-12", "Built. @admin [~accountid:5b10] /close")
    texts = [one for block in site.comments["SHOP-12"][0]["content"] for one in block["content"]]
    assert texts == [{"type": "text", "text": "Built. @admin [~accountid:5b10] /close"}]
    done = next(step for step in jira.transitions("SHOP-12") if step.to == "Done")
    jira.move("SHOP-12", done)
    assert jira.ticket("SHOP-12").state == "closed"


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        (401, "refuses the credential: check AISWE_JIRA_TOKENS."),
        (403, "may not do that: no."),
        (404, "no such thing, or the token in AISWE_JIRA_TOKENS may not see it: no."),
        (429, "limits how often it is asked: try again in 7 s"),
        (503, "is in trouble (HTTP 503): try again later"),
        (400, "refuses it (HTTP 400): no."),
        ("elsewhere", "leads to another host, elsewhere.example: not followed"),
    ],
)
def test_whatever_goes_wrong_is_a_sentence_without_the_token(site, jira, behave, words) -> None:
    site.behave = behave
    with pytest.raises(ForgeRefused, match=re.escape(words)) as refused:
        jira.ticket("SHOP-12")
    assert TOKEN not in str(refused.value)
    assert refused.value.__cause__ is None
    assert (refused.value.wait == 7) == (behave in (429, 503))


def test_a_file_that_is_larger_than_told_is_not_read_to_its_end(site, jira) -> None:
    site.add("SHOP-12", "Two coupons", files={"notes.md": b"x" * 5_000})
    with pytest.raises(ForgeRefused, match="answers with more than 1,000 bytes"):
        jira.attachment(jira.ticket("SHOP-12").attachments[0], 1_000)


def test_a_host_is_checked_and_a_token_is_there_before_anything_is_sent(site, access) -> None:
    with pytest.raises(ForgeRefused, match=r"private address .* AISWE_GIT_HOSTS"):
        Jira("localhost", site.port, RemoteAccess([], access.tokens)).ticket("SHOP-1")
    for given in ({}, {"localhost": TOKEN}, {"elsewhere.example": f"{WHO}:{TOKEN}"}):
        with pytest.raises(ForgeRefused, match="no token for localhost: set AISWE_JIRA_TOKENS=localhost=email:token"):
            Jira("localhost", site.port, RemoteAccess(["localhost"], given))
    assert site.asked == []
    with pytest.raises(ForgeRefused, match="refuses the credential"):
        Jira("localhost", site.port, RemoteAccess(["localhost"], {"localhost": f"{WHO}:wrong"})).ticket("SHOP-1")


def test_a_certificate_of_nobody_known_is_refused(site, access, monkeypatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(ForgeRefused, match="certificate is not trusted"):
        Jira("localhost", site.port, access).ticket("SHOP-1")
    assert site.asked == []


def test_a_ticket_that_is_not_there_and_an_unbounded_query_say_so(site, jira) -> None:
    with pytest.raises(NotThere):
        jira.ticket("SHOP-404")
    with pytest.raises(ForgeRefused, match="the query is unbounded"):
        jira.tickets("order by created")


@pytest.mark.parametrize(
    "fields", [{"labels": 7}, {"labels": [1, {}]}, {"status": "x"}, {"creator": []}, {"attachment": [7]}]
)
def test_an_answer_of_another_shape_is_read_as_far_as_it_goes(site, jira, fields) -> None:
    site.add("SHOP-1", "Title", **fields)
    assert jira.ticket("SHOP-1").key == "SHOP-1"
