"""A project that starts from a recipe has its files, its rules and its origin from the first commit on."""

import pytest

from agents.workspace.git import out
from projects.errors import BadInput
from projects.models import Project, SiteEvent
from projects.services.repositories.recipes import recipe_named, started_project
from projects.storage.paths import repository_of, repository_path
from tests.agents.recipes.folders import commit_all, write_recipe
from tests.factories import make_user
from tests.rows import fresh

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_home")]


@pytest.fixture
def own_home(tmp_path, settings):
    settings.AISWE_HOME = tmp_path / "home"


@pytest.fixture
def recipe(tmp_path):
    files = {
        "house_rules.md": "- Money is in cents.\n",
        "plan.md": "Begin with __PACKAGE__.\n",
        "prompts/coder.md": "- Types everywhere.\n",
        "skeleton/src/__PACKAGE__.txt": "__NAME__\n",
    }
    folder = write_recipe(tmp_path / "house-recipe", files)
    commit_all(folder, tag="v1")
    return recipe_named(f"file://{folder}#v1")


def test_the_skeleton_is_the_first_commit_and_says_where_it_is_from(recipe):
    with started_project("Big Shop", by=make_user(), recipe=recipe) as project:
        pass
    repository = repository_of(project)
    head = repository.base_head()
    assert repository.files(head) == [".gitignore", "AGENTS.md", "README.md", "src/big_shop.txt"]
    assert "- Money is in cents." in (repository.read(head, "AGENTS.md") or "")
    assert repository.read(head, "src/big_shop.txt") == "Big Shop\n"
    lines = out(repository.root, "log", "-1", "--format=%B", head).splitlines()
    assert f"Recipe-Commit: {recipe.commit}" in lines
    assert f"Recipe-Source: {recipe.source}" in lines
    assert f"Recipe-Hash: {recipe.hash}" in lines
    assert "Recipe: house-recipe" in lines


def test_the_guide_of_a_recipe_stays_as_it_is(tmp_path):
    folder = write_recipe(tmp_path / "guided", {"skeleton/AGENTS.md": "Ask __NAME__.\n"})
    with started_project("Big Shop", by=make_user(), recipe=recipe_named(str(folder))) as project:
        pass
    repository = repository_of(project)
    assert repository.read(repository.base_head(), "AGENTS.md") == "Ask Big Shop.\n"


def test_the_project_keeps_a_copy_of_what_the_recipe_says(recipe):
    with started_project("Big Shop", by=make_user(), recipe=recipe, house_rules="- No ORM.\n") as project:
        pass
    assert fresh(project).house_rules == "- Money is in cents.\n\n- No ORM."
    assert project.recipe["plan"] == "Begin with big_shop."
    assert project.recipe["prompts"] == {"coder": "- Types everywhere."}
    assert (project.recipe["hash"], project.recipe["commit"]) == (recipe.hash, recipe.commit)
    assert SiteEvent.objects.get().detail == {
        name: project.recipe[name] for name in ("name", "source", "commit", "hash")
    }


def test_nothing_stays_of_a_project_whose_start_fails(recipe):
    places = []

    def start() -> None:
        with started_project("Big Shop", by=make_user(), recipe=recipe) as project:
            places.append(repository_path(project))
            assert places[0].exists()
            raise RuntimeError("no document")

    with pytest.raises(RuntimeError):
        start()
    assert not Project.objects.exists()
    assert not places[0].exists()


def test_a_repository_that_is_there_already_is_left_alone(recipe):
    with started_project("Big Shop", by=make_user()) as project:
        pass
    place = repository_path(project)
    Project.objects.all().delete()
    place.mkdir(parents=True)
    (place / "mine").write_text("x")
    with pytest.raises(BadInput, match="move it away"), started_project("Big Shop", by=make_user("b"), recipe=recipe):
        pass
    assert (place / "mine").read_text() == "x"


def test_a_project_without_a_recipe_gets_its_repository_with_its_first_run():
    with started_project("Plain", by=make_user(), house_rules="- Be brief.") as project:
        pass
    assert project.recipe == {}
    assert project.house_rules == "- Be brief."
    assert not repository_path(project).exists()


def test_a_recipe_that_cannot_be_read_is_a_sentence():
    with pytest.raises(BadInput, match="There is no recipe 'nope'"):
        recipe_named("nope")
