"""The change of a pull request of the linked forge, and writing its review there on a person's yes."""

from __future__ import annotations

from django.contrib.auth.models import User

from agents.forges.contract import ForgeRefused, ForgeRequest, Remark
from agents.prompts.render import quoted
from agents.secrets.redaction import redact
from agents.workspace.addresses import parse_address
from agents.workspace.fetching import fetch_into
from agents.workspace.git import is_branch_name
from agents.workspace.objects import NAME
from projects.errors import BadInput, StaleVersion
from projects.models import Approval, Event, ForgeLink, Project, Run
from projects.services.accounts.rights import require
from projects.services.audit.canonical import clean_text
from projects.services.audit.sitelog import note
from projects.services.delivery.changes import parted
from projects.services.forges.links import forge_of, needed_link, remote_of
from projects.services.forges.wording import apart
from projects.services.repositories.importing import remote_access
from projects.services.work import approval_requests
from projects.storage.paths import ensure_repository

MOST_WORDS = 2_000  # characters of a remark, and of each line of its evidence
_STRENGTHS = {
    "proven": "proven by a test that passes before the change and fails after it",
    "found": "found by a tool on the changed line, and not before",
    "shown": "shown by a test of the new code",
    "believed": "not proven",
}


def fetched(project: Project, link: ForgeLink, request: ForgeRequest) -> tuple[str, str]:
    """The commit that the request left its base at, and its head, both fetched. Raises BadInput and SourceRefused."""
    folder, own = ensure_repository(project).git_dir, f"refs/aiswe/requests/{request.number}"
    if not (is_branch_name(request.head) and is_branch_name(request.base) and NAME.fullmatch(request.head_commit)):
        raise BadInput(f"Request {request.number} names branches or a commit that git cannot have.")
    theirs = f"refs/heads/{request.head}"
    if request.from_fork:
        theirs = f"refs/{'merge-requests' if link.kind == ForgeLink.Kind.GITLAB else 'pull'}/{request.number}/head"
    refs = {theirs: f"{own}/head", f"refs/heads/{request.base}": f"{own}/base"}
    fetch_into(folder, parse_address(remote_of(link)), refs, access=remote_access())
    try:
        return parted(folder, f"{own}/base", request.head_commit), request.head_commit
    except BadInput:
        raise BadInput(f"Request {request.number} moved while it was fetched: try again.") from None


def send_review(run: Run, *, by: User) -> str:
    """Write the remarks of a review to its pull request, which it neither approves nor refuses; its address there.

    The yes stands in the run's trail before anything leaves, the outcome in the site's. Raises NotAllowed, BadInput,
    and StaleVersion when the request stands at another commit by now.
    """
    require(by, run.project, "approval.decide")
    queued = Event.objects.filter(run=run, type="run.queued").first()
    told = queued.payload if queued is not None else {}
    if run.kind != Run.Kind.REVIEW or not told.get("request") or run.status != Run.Status.FINISHED:
        raise BadInput(f"Run {run.pk} is not a finished review of a pull request.")
    link, number, head = needed_link(run.project), int(told["request"]), str(told["change"]).partition("..")[2]
    rows = [row.payload for row in Event.objects.filter(run=run, type="review.remark").order_by("seq")]
    asked = approval_requests.ask(
        run.project,
        kind=Approval.Kind.PUSH,
        subject=f"review {run.pk} {head}",
        title=f"Write the review of run {run.pk} to request {number} of {link}"[:200],
        run=run,
        why="Words about code leave this installation.",
        on_yes="The remarks are written there as a review that neither approves nor refuses.",
        on_no="Nothing is sent.",
    )
    approval_requests.close_approval(asked, Approval.Status.APPROVED, by=by)
    detail = {"project": run.project.slug, "request": number, "commit": head, "link": str(link)}
    remarks = [Remark(row["path"], row["line"], _words(row)) for row in rows if row["line"]]
    rest = "\n\n".join(_words(row) for row in rows if not row["line"])
    count = len(rows)
    text = f"{count or 'No'} remark{'s' * (count != 1)} by AI SWE (run {run.pk}).{' ' * bool(rest)}{rest}"
    try:
        forge = forge_of(link)
        if forge.request(number).head_commit != head:
            raise StaleVersion(f"Request {number} stands at another commit by now. Review it again.")
        address = forge.review(number, head, text, remarks)
    except ForgeRefused as refused:
        note(by, "review.sent", f"run {run.pk}", {**detail, "problem": str(refused)}, outcome="fail")
        raise BadInput(f"The review was not written: {refused}") from None
    note(by, "review.sent", f"run {run.pk}", {**detail, "address": address})
    return address


def _words(row: dict[str, object]) -> str:
    """A remark as Markdown: what others wrote is on lines of ours or quoted, names nobody, and is no command."""
    strength = _STRENGTHS.get(str(row["strength"]), "")
    lines = [f"**{apart(str(row['kind']), 60)}**, {strength}: {apart(str(row['text']), MOST_WORDS)}"]
    evidence = row.get("evidence")
    lines += [f"- {apart(str(said), MOST_WORDS)}" for said in (evidence if isinstance(evidence, list) else ())]
    if row.get("test"):
        test = quoted(str(redact(clean_text(str(row["test"]))))).replace("@", "@\N{ZERO WIDTH SPACE}")
        lines.append(f"<details><summary>The test</summary>\n\n{test}\n\n</details>")
    return "\n\n".join(lines)
