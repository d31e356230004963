"""The three clients against forges of our own: one contract, and GitHub's requests and answers as it documents them."""

import pytest

from agents.forges.contract import Attachment, Forge, ForgeRefused, NotThere, Remark, Status
from tests.agents.workspace.git_server import TOKEN
from tests.forge_server import ServedForge, ServedRepository


def opened(forge: Forge) -> int:
    made = forge.open_request(head="work", base="main", title="Add up", text="So that totals are right.")
    return made.number


def test_a_repository_and_the_account_are_told(forge: Forge, served: ServedForge) -> None:
    found, me = forge.repository(), forge.me()
    assert (found.path, found.default_branch, found.private) == ("acme/shop", "main", False)
    assert found.clone_address == served.web("acme/shop.git")
    assert (me.ident, me.login) == (str(served.bot.ident), "aiswe-bot")


def test_a_request_is_opened_once_edited_and_seen_merged(forge: Forge, shop: ServedRepository) -> None:
    made = forge.open_request(head="work", base="main", title="Add up", text="Why.")
    assert (made.state, made.head, made.base, made.from_fork) == ("open", "work", "main", False)
    assert made.head_commit == shop.branches()["work"]
    assert forge.open_request(head="work", base="main", title="Again", text="").number == made.number
    assert [one.number for one in forge.requests()] == [made.number]
    edited = forge.edit_request(made.number, text="Other words.")
    assert (edited.title, edited.text) == ("Add up", "Other words.")
    newer = shop.commit("work", {"new.py": "x = 2\n"})
    assert forge.request(made.number).head_commit == newer
    merge = shop.merge(made.number)
    seen = forge.request(made.number)
    assert (seen.state, seen.merge_commit) == ("merged", merge)
    assert forge.requests() == []


def test_a_closed_request_is_not_a_merged_one_and_a_fork_is_told(
    forge: Forge, served: ServedForge, shop: ServedRepository
) -> None:
    shop.close(opened(forge))
    fork = served.fork(shop, "eve")
    fork.commit("theirs", {"new.py": "y = 1\n"}, by="eve")
    theirs = shop.pull("theirs", "main", "Mine", by="eve", fork=fork)
    assert forge.request(theirs.number - 1).state == "closed"
    assert (forge.request(theirs.number).from_fork, forge.request(theirs.number).author.login) == (True, "eve")


def test_a_draft_says_so(forge: Forge) -> None:
    assert forge.open_request(head="work", base="main", title="Add up", text="Why.", draft=True).draft


def test_comments_of_all_places_come_in_order_and_are_answered(forge: Forge, shop: ServedRepository) -> None:
    number = opened(forge)
    first = shop.comment(number, "Looks good", "eve")
    line = shop.line_comment(number, "shop.py", 2, "Why the 0?", "ada")
    review = shop.review(number, "Some remarks", "ada", [("new.py", 3, "A loop")])
    found = list(forge.comments(number))
    places = [(one.place, one.author.login, one.text) for one in found]
    whole = ("review" if forge.kind != "gitlab" else "conversation", "ada", "Some remarks")
    expected = [("conversation", "eve", "Looks good"), ("line", "ada", "Why the 0?"), whole, ("line", "ada", "A loop")]
    assert places == expected
    assert (found[1].path, found[1].line, found[1].commit) == ("shop.py", 2, shop.branches()["work"])
    assert [one.ident for one in found[:3]] == [str(first.ident), str(line.ident), str(review.ident)]
    answer = forge.reply(number, found[1], "It is the start.")
    assert answer.author.ident == forge.me().ident
    told = {one.ident: one for one in forge.comments(number)}[answer.ident]
    if forge.kind == "forgejo":
        assert (told.place, told.text) == ("conversation", "> Why the 0?\n\nIt is the start.")
    else:
        assert (told.place, told.reply_to, told.text) == ("line", found[1].ident, "It is the start.")
    assert forge.reply(number, found[0], "Thanks.").text.endswith("Thanks.")
    assert forge.comment(number, "Done.").text == "Done."


def test_a_review_has_its_remarks_on_lines_and_what_has_no_line_in_its_text(
    forge: Forge, shop: ServedRepository
) -> None:
    number = opened(forge)
    commit = shop.branches()["work"]
    remarks = [Remark("shop.py", 2, "Slow"), Remark("README.md", 1, "Not in it"), Remark("new.py", 400, "Beyond")]
    assert forge.review(number, commit, "Two remarks", remarks).startswith("https://")
    found = list(forge.comments(number))
    assert [(one.path, one.line, one.text) for one in found if one.place == "line"] == [("shop.py", 2, "Slow")]
    whole = next(one.text for one in found if one.place != "line")
    assert whole == "Two remarks\n\n`README.md`, line 1: Not in it\n\n`new.py`, line 400: Beyond"


@pytest.mark.parametrize("served", ["gitlab"], indirect=True)
def test_a_remark_stands_on_a_line_that_stayed_or_in_a_renamed_file_and_a_refused_one_is_in_the_text(
    forge: Forge, served: ServedForge, shop: ServedRepository
) -> None:
    shop.commit("main", {"old.py": "".join(f"x{number} = 1\n" for number in range(30))})
    moved = "".join(f"x{number} = 1\n" for number in range(29)) + "y = 2\nz = 3\n"
    commit = shop.commit("moves", {"old.py": None, "moved.py": moved, "two.py": "x = 2\n"}, start="main")
    number = forge.open_request(head="moves", base="main", title="Move", text="").number
    remarks = [Remark("moved.py", 28, "Stayed"), Remark("two.py", 1, "Refused"), Remark("moved.py", 30, "Added")]
    served.too_large = ["two.py"]
    forge.review(number, commit, "Three remarks", remarks)
    found = list(forge.comments(number))
    assert [(one.path, one.line, one.text) for one in found if one.path] == [
        ("moved.py", 28, "Stayed"),
        ("moved.py", 30, "Added"),
    ]
    assert [one.text for one in found if not one.path] == ["Three remarks\n\n`two.py`, line 1: Refused"]


def test_no_line_that_is_written_there_begins_a_command(forge: Forge, shop: ServedRepository) -> None:
    kept = "It says\n|/merge\n text\n\t|/approve\r\n// a comment"
    said, kept = kept.replace("|", ""), kept.replace("|", "\N{ZERO WIDTH SPACE}")
    made = forge.open_request(head="work", base="main", title="Add up", text=said)
    assert made.text == kept
    assert forge.edit_request(made.number, text=f"More\n{said}").text == f"More\n{kept}"
    forge.review(made.number, shop.branches()["work"], said, [Remark("shop.py", 2, said), Remark("README.md", 1, said)])
    forge.comment(made.number, said)
    for one in list(forge.comments(made.number)):
        forge.reply(made.number, one, said)
    issue = shop.issue("Bug", "It breaks")
    forge.comment(issue.number, said, about="issue")
    texts = [one.text for one in (*forge.comments(made.number), *issue.notes)]
    assert len(texts) == 7
    assert all(kept in text and "\n/merge" not in text for text in texts)
    assert forge.comment(made.number, "/close").text != "/close"


def test_the_newest_status_of_each_name_counts(forge: Forge, shop: ServedRepository) -> None:
    commit = shop.branches()["work"]
    for state in ("pending", "success"):
        forge.set_status(commit, Status("aiswe/tests", state, "12 passed", "https://localhost/runs/1"))
    forge.set_status(commit, Status("aiswe/gates", "failure", "x" * 300))
    forge.set_status(commit, Status("aiswe/gates", "failure", "x" * 300))
    found = {one.name: one for one in forge.statuses(commit)}
    assert {name: one.state for name, one in found.items()} == {"aiswe/tests": "success", "aiswe/gates": "failure"}
    assert (found["aiswe/tests"].address, len(found["aiswe/gates"].text)) == ("https://localhost/runs/1", 140)


def test_issues_are_found_read_answered_and_closed(forge: Forge, served: ServedForge, shop: ServedRepository) -> None:
    opened(forge)
    served.page_size = 2
    made = [shop.issue(f"Bug {number}", "It breaks", labels=["bug"]) for number in range(5)]
    shop.issue("Idea", "A page", labels=["idea"])
    assert [one.title for one in forge.issues("labels=bug")] == ["Bug 4", "Bug 3", "Bug 2", "Bug 1", "Bug 0"]
    assert len(forge.issues()) == 6
    assert len(forge.issues(most=3)) == 3
    one = forge.issue(made[0].number)
    assert (one.key, one.title, one.text, one.state, one.labels) == (
        str(made[0].number),
        "Bug 0",
        "It breaks",
        "open",
        ["bug"],
    )
    forge.comment(made[0].number, "Fixed in #1", about="issue")
    assert made[0].notes[0].text == "Fixed in #1"
    forge.close_issue(made[0].number)
    assert forge.issue(made[0].number).state == "closed"
    assert len(forge.issues("labels=bug&state=all")) == 5


def test_files_of_an_issue_come_in_up_to_a_size(forge: Forge, shop: ServedRepository) -> None:
    made = shop.issue("Bug", "See the file", files={"trace.txt": b"Traceback"})
    one = forge.issue(made.number).attachments[0]
    assert (one.name, forge.attachment(one, 1_000)) == ("trace.txt", b"Traceback")
    with pytest.raises(ForgeRefused, match="more than 3 bytes"):
        forge.attachment(one, 3)
    with pytest.raises(ForgeRefused):
        forge.attachment(Attachment("x", "https://127.0.0.1:1/x"), 10)


def test_what_an_issue_says_leads_to_no_other_file_of_the_forge(forge: Forge, served: ServedForge) -> None:
    calls = len(served.calls)
    for address in (served.web("user-attachments/../api/v3/user"), served.web("a/%2e%2e/b"), "https://x:99999/a"):
        with pytest.raises(ForgeRefused):
            forge.attachment(Attachment("x", address), 1_000)
    assert len(served.calls) == calls
    said = served.web("user-attachments/../repos/acme/secret/contents/.env")
    other = "https://elsewhere.example/user-attachments/files/1/a.txt"
    text = f"[a]({said}) [b]({other}) [c](/uploads/{'a' * 32}/../../42/repository/files/x/raw)"
    row = {"body": text, "description": text, "number": 1, "iid": 1, "title": "t", "state": "open", "labels": []}
    row |= {"html_url": "", "web_url": "", "updated_at": "2026-01-02T03:04:05Z", "user": None, "assets": []}
    row |= {"author": {"id": 1, "username": "mallory"}}
    assert list(forge._ticket(row).attachments) == []  # type: ignore[attr-defined]


def test_the_end_of_a_failed_builds_log(forge: Forge, shop: ServedRepository) -> None:
    build = shop.build_fails("begin\n" * 1_000 + "E   assert 1 == 2\n")
    assert forge.build_log(str(build.ident), 30).endswith("E   assert 1 == 2\n")
    with pytest.raises(NotThere):
        forge.build_log("1", 30)


def test_what_is_not_there_is_told_from_what_is_refused(forge: Forge, shop: ServedRepository) -> None:
    for ask in (forge.request, forge.issue):
        with pytest.raises(NotThere):
            ask(77)
    shop.git("update-ref", "refs/heads/same", shop.branches()["main"])
    with pytest.raises(ForgeRefused, match="No commits between") as refused:
        forge.open_request(head="same", base="main", title="Nothing", text="")
    assert TOKEN not in str(refused.value)
