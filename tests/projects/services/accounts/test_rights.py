"""The whole table, said a second time: a change of rights must be made in two places on purpose."""

import pytest
from django.contrib.auth.models import AnonymousUser

from projects.errors import NotAllowed
from projects.models.project import Role
from projects.services.accounts.rights import ALL_VERBS, VERBS, can, require
from tests.factories import make_project, make_user
from tests.rows import undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db

EXPECTED = {
    "project.view": {"manager", "architect", "developer", "security", "auditor", "viewer"},
    "project.edit": {"manager", "architect"},
    "backlog.edit": {"manager", "architect"},
    "member.edit": {"manager"},
    "report.send": {"manager"},
    "document.upload": {"architect"},
    "requirement.edit": {"architect"},
    "plan.edit": {"architect"},
    "plan.approve": {"architect"},
    "run.start": {"manager", "architect", "developer"},
    "run.control": {"manager", "architect", "developer"},
    "task.retry": {"developer"},
    "approval.decide": {"manager", "architect", "developer", "security"},
    "target.edit": {"manager", "architect"},
    "deploy": {"manager", "architect", "developer"},
    "gate.dispose": {"developer", "security"},
    "gate.override": {"security"},
    "audit.export": {"security", "auditor"},
}


def test_the_table_names_every_role_and_every_verb():
    assert set(VERBS) == set(Role.values)
    assert set(EXPECTED) == ALL_VERBS


@each_row("role", Role.values)
@undone()
def test_a_role_may_do_what_the_table_says_and_nothing_else(role):
    project = make_project()
    user = make_user(role=role, project=project)
    may = {verb for verb in EXPECTED if can(user, project, verb)}
    assert may == {verb for verb, roles in EXPECTED.items() if role in roles}


def test_a_superuser_may_do_everything_there_is():
    user, project = make_user(superuser=True), make_project()
    assert all(can(user, project, verb) for verb in ALL_VERBS)
    assert not can(user, project, "database.drop")


def test_strangers_and_visitors_may_do_nothing():
    project, other = make_project(), make_project()
    stranger = make_user(role="architect", project=other)
    for verb in ALL_VERBS:
        assert not can(stranger, project, verb)
        assert not can(AnonymousUser(), project, verb)


def test_a_deactivated_account_loses_its_rights_at_once():
    project = make_project()
    user = make_user(superuser=True)
    user.is_active = False
    user.save()
    assert not can(user, project, "project.view")


def test_roles_add_up():
    project = make_project()
    user = make_user(role="auditor", project=project)
    project.memberships.create(user=user, role="developer")
    assert can(user, project, "audit.export")
    assert can(user, project, "task.retry")


def test_a_refusal_names_who_may():
    project = make_project("Ledger")
    with pytest.raises(NotAllowed, match=r"plan\.approve.*architect"):
        require(make_user(role="viewer", project=project), project, "plan.approve")
