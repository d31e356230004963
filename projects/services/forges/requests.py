"""Pull requests for what a run built: opened on a person's yes, kept current, and read back. Nothing is ever forced."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agents.forges.contract import Forge, ForgeRefused, ForgeRequest, Status
from agents.workspace.git import GitError, git
from agents.workspace.objects import NAME
from projects.errors import IllegalMove, StaleVersion
from projects.models import Finding, Project, Run
from projects.models.forges import PullRequest
from projects.services.accounts.rights import require
from projects.services.audit.sitelog import note
from projects.services.delivery import pushes, state
from projects.services.delivery.downloads import git_dir_of
from projects.services.forges import wording
from projects.services.forges.links import forge_of, in_words, needed_link, remote_of

log = logging.getLogger("aiswe.forges")


@dataclass(frozen=True)
class RequestUpdate:
    """A pull request after newer results were sent; `aside` is the branch that they went to instead of its own."""

    request: PullRequest
    aside: str = ""


def offer(run: Run) -> pushes.PushTarget:
    """What a pull request of this build would send, and where. Raises BadInput."""
    return pushes.result_for(run, remote_of(needed_link(run.project)))


def request_of(run: Run) -> PullRequest | None:
    """The newest pull request whose results are this run's."""
    return PullRequest.objects.filter(run=run).select_related("link").first()


def open_request(run: Run, *, by: User, commit: str, draft: bool = False) -> PullRequest:
    """Push a build's branch to the project's forge and ask to merge it; `commit` is what the person said yes to.

    The yes stands in the run's trail before anything leaves. Raises NotAllowed, BadInput and StaleVersion.
    """
    require(by, run.project, "approval.decide")
    link, target = needed_link(run.project), offer(run)
    if commit != target.commit:
        raise StaleVersion("The run stands at another commit by now. Look again before you ask to merge it.")
    known = request_of(run)
    if known is not None and known.state == PullRequest.State.OPEN:
        return keep_current(known, run, by=by, commit=commit).request
    with in_words():
        forge = forge_of(link)
        pushes.send(run, target, by=by, title=_title(target), on_yes="It is pushed, and a pull request is opened.")
        found = forge.open_request(
            head=target.branch,
            base=run.project.base_branch,
            title=wording.title_of(run),
            text=wording.text_of(run),
            draft=draft,
        )
    values = {
        "run": run,
        "branch": target.branch,
        "base": found.base,
        "commit": target.commit,
        "state": found.state,
        "web_address": found.web_address[:500],
        "checked_at": timezone.now(),
    }
    with transaction.atomic():
        made, _ = PullRequest.objects.update_or_create(
            link=link, number=found.number, defaults=values, create_defaults={**values, "opened_by": by}
        )
        note(by, "request.opened", f"run {run.pk}", {"request": str(made), "commit": target.commit})
    _say_checks(forge, run, target.commit)
    return made


def keep_current(request: PullRequest, run: Run, *, by: User | None = None, commit: str = "") -> RequestUpdate:
    """Send a run's newer results to an open pull request, and renew its text and checks.

    Where somebody else pushed to its branch, or the results do not follow what is there, they go to a branch of their
    own, and a comment says so. Words that cannot be renewed after the push are noted. `by` is who said yes; without one
    the project's setting, that comments there are work, stands for it. Raises NotAllowed, BadInput, IllegalMove and
    StaleVersion.
    """
    link = request.link
    if by is not None:
        require(by, link.project, "approval.decide")
    elif not link.takes_requests:
        raise IllegalMove(f"{link.project.name} takes no requests from its forge: a person says yes to each push.")
    target = pushes.result_for(run, remote_of(link))
    if commit and commit != target.commit:
        raise StaleVersion("The run stands at another commit by now. Look again before you send it.")
    with in_words():
        forge = forge_of(link)
        now = forge.request(request.number)
        _store(request, now, by)
        if now.state != "open":
            raise IllegalMove(f"{request} is {now.state}: open a new one.")
        follows = _follows(link.project, target.commit, now.head_commit)
        branch = request.branch if follows else f"{request.branch}-{target.commit[:8]}"
        sent = pushes.PushTarget(target.address, branch, target.commit)
        on_yes = f"{request} shows it." if follows else "A comment on the pull request says so."
        pushes.send(run, sent, by=by, title=_title(sent), on_yes=on_yes)
        if not follows:
            forge.comment(request.number, _set_aside(request, now, sent))
    if not follows:
        note(by or "forge", "request.set_aside", f"run {run.pk}", {"request": str(request), "branch": branch})
        return RequestUpdate(request, branch)
    with transaction.atomic():
        request.run, request.commit = run, target.commit
        request.save(update_fields=["run", "commit"])
        note(by or "forge", "request.updated", f"run {run.pk}", {"request": str(request), "commit": target.commit})
    try:
        renew(forge, request, now.text)
    except ForgeRefused as refused:  # the results are there, and pushing them again would change nothing
        log.warning("run %s: the words of %s could not be renewed: %s", run.pk, request, refused)
        told = {"request": str(request), "problem": str(refused)}
        note(by or "forge", "request.renewed", f"run {run.pk}", told, outcome="fail")
    return RequestUpdate(request)


def renew(forge: Forge, request: PullRequest, text: str) -> None:
    """Bring the words and checks of a pull request up to its run; `text` is what it says now. Raises ForgeRefused."""
    newer = wording.renewed(text, wording.text_of(request.run))
    if newer != text:
        forge.edit_request(request.number, text=newer)
    _say_checks(forge, request.run, request.commit)


def look(request: PullRequest) -> PullRequest:
    """Ask the forge how a pull request is; a change stands in the site's trail. Raises BadInput."""
    with in_words():
        _store(request, forge_of(request.link).request(request.number))
    return request


def checks_of(run: Run) -> list[Status]:
    """What our checks say of a run: its tests and its gates."""
    result = state.result(run)
    failed = sum(int(result.tests.get(name, 0) or 0) for name in ("failed", "errors"))
    passed = bool(result.tests) and not failed
    blocking = Finding.objects.filter(task__run=run, blocks=True)
    open_ones = blocking.exclude(state=Finding.State.FIXED).count()
    words = f"{open_ones} findings block." if open_ones else "No finding blocks."
    return [
        Status(
            "aiswe/tests", "success" if passed else "failure" if failed else "error", wording.tests_in_words(result)
        ),
        Status("aiswe/gates", "failure" if open_ones else "success", words),
    ]


def _say_checks(forge: Forge, run: Run, commit: str) -> None:
    """Report the checks; a forge that takes none of this account still has the request."""
    try:
        for one in checks_of(run):
            forge.set_status(commit, one)
    except ForgeRefused as refused:
        log.warning("run %s: its checks could not be reported: %s", run.pk, refused)
        note("forge", "request.checks", f"run {run.pk}", {"problem": str(refused)}, outcome="fail")


def _store(request: PullRequest, now: ForgeRequest, by: User | None = None) -> None:
    changed = request.state != now.state
    request.state, request.checked_at = now.state, timezone.now()
    with transaction.atomic():
        request.save(update_fields=["state", "checked_at"])
        if changed:
            detail = {"request": str(request), "merge_commit": now.merge_commit}
            note(by or "forge", f"request.{now.state}", f"run {request.run_id}", detail)


def _follows(project: Project, commit: str, there: str) -> bool:
    """Whether a commit of ours only adds to what is on the forge."""
    if not NAME.fullmatch(there):
        return False
    try:
        missing = git(git_dir_of(project), "rev-list", "--max-count=1", there, f"^{commit}").stdout
    except GitError:  # a commit that is not known here
        return False
    return not missing.strip()


def _set_aside(request: PullRequest, now: ForgeRequest, sent: pushes.PushTarget) -> str:
    why = "Somebody else pushed to" if now.head_commit != request.commit else "They do not build on what is on"
    return (
        f"There are newer results, which are not on this pull request. {why} `{request.branch}`, and nothing is"
        f" overwritten: they are on `{sent.branch}` at `{sent.commit[:10]}`."
    )


def _title(target: pushes.PushTarget) -> str:
    return f"Push {target.branch} at {target.commit[:10]} to {target.address} for a pull request"
