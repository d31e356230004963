import pytest
from django.contrib.auth.models import AnonymousUser

from projects.errors import BadInput, NotAllowed
from projects.models import Project, SiteEvent
from projects.services.planning import projects
from tests.factories import make_project, make_user, owner_of
from tests.rows import fresh, undone
from tests.tables import each_row

pytestmark = pytest.mark.django_db


def test_the_creator_is_architect_manager_and_developer():
    project = make_project()
    roles = set(project.memberships.filter(user=owner_of(project)).values_list("role", flat=True))
    assert roles == {"architect", "manager", "developer"}


def test_two_projects_of_one_name_have_addresses_of_their_own():
    slugs = [make_project("Ledger").slug for _ in range(3)] + [
        make_project(name).slug for name in ("日本", "shop-2.0.1")
    ]
    assert slugs == ["ledger", "ledger-2", "ledger-3", "project", "shop-2-0-1"]


@each_row(
    "given",
    [
        {"name": "  "},
        {"name": "x" * 121},
        {"autonomy": "full"},
        {"sandbox_backend": "none"},
        {"limits": {"max_retries": -1}},
        {"limits": {"max_retries": True}},
        {"limits": {"max_retries": "5"}},
        {"limits": {"max_loops": 5}},
        {"limits": {"warn_iterations": 20}},
        {"limits": [1]},
        {"house_rules": "x" * 20_001},
        {"model": "m" * 121},
    ],
)
@undone()
def test_a_setting_that_cannot_be_used_is_refused_and_nothing_changes(given):
    project = make_project("Before")
    with pytest.raises(BadInput):
        projects.update_settings(project, by=owner_of(project), **given)
    with pytest.raises(BadInput):
        projects.create_project(**{"name": "New", **given}, by=owner_of(project))
    assert (fresh(project).name, Project.objects.count()) == ("Before", 1)


def test_limits_not_named_keep_their_value():
    project = make_project(limits={"max_retries": 3})
    projects.update_settings(project, by=owner_of(project), limits={"parallel_tasks": 4})
    assert (project.limits["max_retries"], project.limits["parallel_tasks"]) == (3, 4)
    assert project.limits["max_iterations"] == 15


def test_the_site_trail_tells_who_changed_which_setting_and_how():
    project = make_project(limits={"max_retries": 3})
    owner = owner_of(project)
    changes = {"autonomy": "gates_only", "house_rules": "Be kind.", "limits": {"max_retries": 9, "samples": 1}}
    projects.update_settings(project, by=owner, **changes)
    projects.update_settings(project, by=owner, **changes)
    (row,) = SiteEvent.objects.filter(action="project.changed")
    assert (row.actor, row.subject) == (owner.get_username(), project.slug)
    assert row.detail == {"autonomy": ["plan_gates", "gates_only"], "house_rules": [0, 8], "max_retries": [3, 9]}


def test_an_unknown_setting_is_named():
    project = make_project()
    with pytest.raises(BadInput, match="slug"):
        projects.update_settings(project, by=owner_of(project), slug="other")


def test_who_may_not_edit_changes_nothing():
    project = make_project()
    with pytest.raises(NotAllowed, match="manager"):
        projects.update_settings(project, by=make_user(role="developer", project=project), name="Mine")


def test_a_visitor_creates_no_project():
    with pytest.raises(NotAllowed):
        projects.create_project("X", by=AnonymousUser())


def test_members_are_added_once_and_the_last_manager_stays():
    project, person = make_project(), make_user()
    boss = owner_of(project)
    first = projects.add_member(project, person, "manager", by=boss)
    assert projects.add_member(project, person, "manager", by=boss).pk == first.pk
    projects.remove_member(project, boss, "manager", by=person)
    with pytest.raises(BadInput, match="needs a manager"):
        projects.remove_member(project, person, "manager", by=person)
    with pytest.raises(BadInput, match="'king'"):
        projects.add_member(project, person, "king", by=person)
    with pytest.raises(NotAllowed):
        projects.add_member(project, person, "viewer", by=boss)


def test_commit_settings_are_checked(tmp_path, settings):
    settings.AISWE_HOME = tmp_path
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "sign").write_text("a key")
    (tmp_path / "secret_key").write_text("ours")
    project = make_project()
    owner = owner_of(project)

    def change(**given):
        return projects.update_settings(project, by=owner, commit_settings=given).commit_settings

    whole = {"author_name": "Ada L.", "author_email": "ada@example.com", "sign_off": True, "signing_key": "sign"}
    assert change(**whole) == whole | {"signing_key": str(tmp_path / "keys" / "sign")}
    assert change(author_name="", sign_off=False) == {}
    for bad in (
        {"author_name": "Ada"},
        {"author_email": "ada@example.com"},
        {"author_name": "A\nB", "author_email": "a@b"},
        {"author_name": "A <x@y>", "author_email": "a@b"},
        {"author_name": "Ada", "author_email": "a@b> <c"},
        {"sign_off": "yes"},
        {"signing_key": "../secret_key"},
        {"signing_key": "/etc/passwd"},
        {"signing_key": "none"},
        {"color": "red"},
    ):
        with pytest.raises(BadInput):
            change(**bad)


def test_a_base_branch_has_a_name_that_git_takes():
    project = make_project()
    owner = owner_of(project)
    assert projects.update_settings(project, by=owner, base_branch="release/2.x").base_branch == "release/2.x"
    for bad in ("", "-d", "a..b", "a b", "x.lock", "a//b", "a/", "a~1", "x\n"):
        with pytest.raises(BadInput):
            projects.update_settings(project, by=owner, base_branch=bad)
    with pytest.raises(BadInput):
        projects.update_settings(project, by=owner, updates_base="no")
