"""Verbs on projects and their members."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify

from agents.engine.limits import LIMITS, PER_TASK, default_limits
from agents.workspace.addresses import SourceRefused, parse_address
from agents.workspace.git import CommitSettings, is_branch_name
from projects.errors import BadInput, IllegalMove, NotAllowed
from projects.models import Membership, Project, Run
from projects.models.project import Autonomy, Role
from projects.services.accounts.rights import require
from projects.services.audit.canonical import clean_text
from projects.services.audit.chain import deleted_projects
from projects.services.audit.notifications import announce_recheck
from projects.services.audit.sitelog import note
from projects.services.planning import outside
from projects.services.work.locks import lock_project

__all__ = ["LIMITS", "PER_TASK", "add_member", "create_project", "remove_member", "set_archived", "update_settings"]

SANDBOXES = ("auto", "docker", "bubblewrap")
SETTINGS = (
    *("name", "autonomy", "limits", "house_rules", "model", "sandbox_backend", "push_remote"),
    *("base_branch", "updates_base", "commit_settings", "coder_agent"),
)
MAX_RULES = 20_000
_EMAIL = re.compile(r"[^\s<>@]+@[^\s<>@]+")


def create_project(name: str, *, by: User, **settings: Any) -> Project:
    """Open a project, with `settings` as update_settings() takes them; its creator becomes architect, manager and
    developer.

    Raises BadInput for an unusable setting.
    """
    if not (by.is_authenticated and by.is_active):
        raise NotAllowed("Sign in to create a project.")
    values = _checked({"limits": {}, **settings, "name": name}, default_limits())
    with transaction.atomic():
        project = _insert(values, by)
        roles = (Role.ARCHITECT, Role.MANAGER, Role.DEVELOPER)
        Membership.objects.bulk_create([Membership(project=project, user=by, role=role) for role in roles])
    return project


def _insert(values: Mapping[str, Any], by: User) -> Project:
    stem = slugify(values["name"].replace(".", "-"))[:70].strip("-") or "project"
    taken = set(Project.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    taken |= set(deleted_projects().filter(subject__startswith=stem).values_list("subject", flat=True))
    slug, number = stem, 2
    while slug in taken:
        slug, number = f"{stem}-{number}", number + 1
    project, made = Project.objects.get_or_create(slug=slug, defaults={**values, "created_by": by})
    if not made:
        raise BadInput(f"A project called {slug} was just created. Try again.")
    return project


def update_settings(project: Project, *, by: User, **changes: Any) -> Project:
    """Change settings (see SETTINGS).

    Limits not named keep their value; commit_settings are given whole. Raises NotAllowed and BadInput, and then nothing
    is changed.
    """
    require(by, project, "project.edit")
    with transaction.atomic():
        current = lock_project(project.pk)
        values = _checked(changes, {**default_limits(), **current.limits})
        before = {name: getattr(current, name) for name in values}
        Project.objects.filter(pk=project.pk).update(**values)
        if changed := _changed(before, values):
            note(by, "project.changed", current.slug, changed)
    project.refresh_from_db()
    return project


def set_archived(project: Project, archived: bool, *, by: User) -> None:
    """Set the project aside, or take it up again; doing it twice changes nothing.

    An archived project starts no runs. Raises NotAllowed, and IllegalMove while a run of it is open.
    """
    require(by, project, "project.edit")
    with transaction.atomic():
        current = lock_project(project.pk)
        if archived != (current.archived_at is not None):
            open_run = Run.objects.filter(project=current).exclude(status__in=Run.OVER).first()
            if archived and open_run is not None:
                raise IllegalMove(f"Run {open_run.pk} of {current.name} is open: let it finish, or cancel it first.")
            now = timezone.now() if archived else None
            Project.objects.filter(pk=current.pk).update(archived_at=now)
            note(by, "project.archived" if archived else "project.unarchived", current.slug)
    project.refresh_from_db()


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What a change of settings was, [before, after] each; of house rules, which are long, their lengths alone."""
    changed: dict[str, Any] = {}
    for name, value in after.items():
        if name == "limits":
            was = before[name]
            changed |= {limit: [was.get(limit), new] for limit, new in value.items() if was.get(limit) != new}
        elif value != before[name]:
            changed[name] = [len(before[name]), len(value)] if name == "house_rules" else [before[name], value]
    return changed


def add_member(project: Project, user: User, role: str, *, by: User) -> Membership:
    """Give a user a role; giving it twice changes nothing. Raises NotAllowed and BadInput."""
    require(by, project, "member.edit")
    if role not in Role.values:
        raise BadInput(f"Unknown role {role!r}: choose one of {', '.join(Role.values)}.")
    with transaction.atomic():
        membership, made = Membership.objects.get_or_create(project=project, user=user, role=role)
        if made:
            note(by, "role.given", user.get_username(), {"project": project.slug, "role": role})
    return membership


def remove_member(project: Project, user: User, role: str, *, by: User) -> None:
    """Take a role away; the last manager stays. Raises NotAllowed and BadInput."""
    require(by, project, "member.edit")
    with transaction.atomic():
        lock_project(project.pk)
        rows = Membership.objects.filter(project=project, role=role)
        if role == Role.MANAGER and not rows.exclude(user=user).exists():
            raise BadInput("A project needs a manager: name another one first.")
        gone, _ = rows.filter(user=user).delete()
        if gone:
            note(by, "role.taken", user.get_username(), {"project": project.slug, "role": role})
            transaction.on_commit(partial(announce_recheck, user.pk))


def _checked(values: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(values) - set(SETTINGS))
    if unknown:
        raise BadInput(f"A project has no setting {', '.join(unknown)}. It has: {', '.join(SETTINGS)}.")
    checked = dict(values)
    if "name" in checked:
        checked["name"] = clean_text(" ".join(str(checked["name"]).split()))
        if not 1 <= len(checked["name"]) <= 120:
            raise BadInput("A project needs a name of 1 to 120 characters.")
    for name, word, known in (("autonomy", "autonomy", Autonomy.values), ("sandbox_backend", "sandbox", SANDBOXES)):
        if name in checked and checked[name] not in known:
            raise BadInput(f"Unknown {word} {checked[name]!r}: choose one of {', '.join(known)}.")
    if "house_rules" in checked:
        checked["house_rules"] = clean_text(str(checked["house_rules"]))
        if len(checked["house_rules"]) > MAX_RULES:
            raise BadInput(f"House rules can have at most {MAX_RULES} characters: they go into every prompt.")
    if len(str(checked.get("model", ""))) > 120:
        raise BadInput("The model's name can have at most 120 characters.")
    if checked.get("coder_agent") and checked["coder_agent"] not in (known := outside.names()):
        there = ", ".join(known) or "none"
        raise BadInput(f"There is no agent {str(checked['coder_agent'])[:40]!r}; an administrator has named: {there}.")
    if checked.get("push_remote"):
        checked["push_remote"] = _checked_address(str(checked["push_remote"]))
    if "limits" in checked:
        checked["limits"] = _checked_limits(checked["limits"], limits)
    if "base_branch" in checked and not is_branch_name(str(checked["base_branch"])):
        raise BadInput(f"{checked['base_branch']!r} is not a valid branch name.")
    if "updates_base" in checked and not isinstance(checked["updates_base"], bool):
        raise BadInput("updates_base is true or false.")
    if "commit_settings" in checked:
        checked["commit_settings"] = _checked_commits(checked["commit_settings"])
    return checked


def _checked_address(text: str) -> str:
    try:
        return str(parse_address(text))[:500]
    except SourceRefused as refused:
        raise BadInput(f"Push to: {refused}") from None


def _checked_commits(given: Any) -> dict[str, Any]:
    """Who signs for commits; what is left out or empty is the product's own."""
    known = CommitSettings.__dataclass_fields__
    if not isinstance(given, Mapping) or set(given) - set(known):
        raise BadInput(f"Commit settings are {', '.join(known)}.")
    found = {name: value for name, value in given.items() if value not in ("", None, False)}
    name, mail = found.get("author_name", ""), found.get("author_email", "")
    if not isinstance(name, str) or len(name) > 100 or re.search(r"[<>\x00-\x1f\x7f]", name) or name != name.strip():
        raise BadInput("An author's name has at most 100 characters, and no < or > among them.")
    if mail and not (isinstance(mail, str) and len(mail) <= 200 and _EMAIL.fullmatch(mail)):
        raise BadInput(f"{mail!r} is not an e-mail address.")
    if bool(name) != bool(mail):
        raise BadInput("An author needs a name and an e-mail address.")
    if "sign_off" in found and found["sign_off"] is not True:
        raise BadInput("sign_off is true or false.")
    if "signing_key" in found:
        # Only keys that whoever runs this machine put there: a member must not sign with any other of its files.
        folder = Path(settings.AISWE_HOME).resolve() / "keys"
        key = (folder / str(found["signing_key"])).resolve()
        if not key.is_relative_to(folder) or not key.is_file():
            raise BadInput(f"There is no SSH key {str(found['signing_key'])!r} in {folder}.")
        found["signing_key"] = str(key)
    return found


def _checked_limits(given: Any, current: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise BadInput("Limits are given by name, for example max_retries.")
    merged = dict(current)
    for name, value in given.items():
        if name not in LIMITS:
            raise BadInput(f"There is no limit {name!r}. There are: {', '.join(LIMITS)}.")
        spec = LIMITS[name]
        if isinstance(value, bool) or not isinstance(value, int) or not spec.low <= value <= spec.high:
            raise BadInput(f"{name} is {value!r}; it must be an integer from {spec.low:,} to {spec.high:,}.")
        merged[name] = value
    if merged["warn_iterations"] > merged["max_iterations"]:
        raise BadInput("warn_iterations must not be above max_iterations.")
    return merged
