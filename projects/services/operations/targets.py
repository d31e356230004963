"""Targets: where a project may be deployed to."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from projects.errors import BadInput, IllegalMove
from projects.models import Deployment, Project, Target
from projects.services.accounts.rights import require, require_administrator
from projects.services.audit.sitelog import note

_TEXTS = {"command": 500, "health": 300, "image": 300, "kubeconfig": 500, "context": 200, "namespace": 63}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")
MOST_VARIABLES = 60


def add_target(
    project: Project,
    *,
    name: str,
    kind: str,
    by: User,
    options: Mapping[str, Any] | None = None,
    production: bool = False,
) -> Target:
    """Name a place to deploy to; `production` is an administrator's word. Raises NotAllowed and BadInput."""
    require(by, project, "target.edit")
    if production:
        require_administrator(by, "Naming a production target")
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,29}", name):
        raise BadInput("A target's name has up to 30 small letters, digits and hyphens, and begins with a letter.")
    if kind not in Target.Kind.values:
        raise BadInput(f"Unknown kind of target {kind!r}: choose one of {', '.join(Target.Kind.values)}.")
    if kind == Target.Kind.KUBERNETES:
        require_administrator(by, "Adding a Kubernetes target, which uses a file of the server,")
    checked = checked_options(options or {})
    try:
        with transaction.atomic():
            target = Target.objects.create(
                project=project, name=name, kind=kind, options=checked, is_production=production, created_by=by
            )
            note(by, "target.added", str(target), {"kind": kind, "production": production, **_told(checked)})
    except IntegrityError:
        raise BadInput(f"{project.name} has a target named {name} already.") from None
    return target


def edit_target(target: Target, *, by: User, **changes: Any) -> Target:
    """Change `options`, `follows` or `watched`. Raises NotAllowed and BadInput."""
    require(by, target.project, "target.edit")
    if target.is_production or target.kind == Target.Kind.KUBERNETES:
        require_administrator(by, "Changing this target")
    unknown = set(changes) - {"options", "follows", "watched"}
    if unknown:
        raise BadInput(f"A target has no {', '.join(sorted(unknown))}.")
    if "options" in changes:
        changes["options"] = checked_options(changes["options"])
    if changes.get("follows") and target.is_production:
        raise BadInput("A production target never follows by itself: each deployment takes a person's yes.")
    with transaction.atomic():
        Target.objects.filter(pk=target.pk).update(**changes)
        told = {name: value for name, value in changes.items() if name != "options"}
        note(by, "target.changed", str(target), told | _told(changes.get("options", {})))
    target.refresh_from_db()
    return target


def remove_target(target: Target, *, by: User) -> None:
    """Forget a target on which nothing runs. Raises NotAllowed and IllegalMove."""
    require(by, target.project, "target.edit")
    if target.deployments.filter(status__in=(*Deployment.UP, Deployment.Status.QUEUED)).exists():
        raise IllegalMove(f"Something runs on {target.name}: stop it first.")
    with transaction.atomic():
        note(by, "target.removed", str(target))
        target.delete()


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a target may be told. Raises BadInput, whose text names what is wrong."""
    found: dict[str, Any] = {}
    unknown = set(options) - {*_TEXTS, "environment"}
    if unknown:
        raise BadInput(f"A target has no option {', '.join(sorted(map(str, unknown)))[:100]}.")
    for name, longest in _TEXTS.items():
        text = options.get(name) or ""
        if not isinstance(text, str) or len(text) > longest or "\0" in text or "\n" in text:
            raise BadInput(f"{name} must be one line of at most {longest} characters.")
        if text.strip():
            found[name] = text.strip()
    if not found.get("health", "/").startswith("/"):
        raise BadInput("The health path begins with a slash, like /health.")
    try:
        shlex.split(found.get("command", ""))
    except ValueError:
        raise BadInput("A quotation mark in the command is not closed.") from None
    environment = options.get("environment") or {}
    if not isinstance(environment, Mapping) or len(environment) > MOST_VARIABLES:
        raise BadInput(f"environment must be a table of at most {MOST_VARIABLES} names and values.")
    for name, value in environment.items():
        if not _VARIABLE.fullmatch(str(name)) or not isinstance(value, str) or len(value) > 2000 or "\0" in value:
            raise BadInput(f"The variable {str(name)[:60]!r} cannot be set.")
        found.setdefault("environment", {})[str(name)] = value
    return found


def _told(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options for the trail: values of variables may be secrets."""
    told = {name: value for name, value in options.items() if name != "environment"}
    return told | ({"variables": sorted(options["environment"])} if options.get("environment") else {})
