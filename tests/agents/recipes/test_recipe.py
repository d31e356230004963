"""Recipes are data: each that cannot be used is refused with a sentence, and nothing of it is followed or run."""

import pytest

from agents.languages.registry import language
from agents.recipes.model import MAX_CHARS, MAX_FILE_BYTES, MAX_FILES
from agents.recipes.names import Names
from agents.recipes.recipe import RecipeError, load, recipes
from sandbox.packages import PackageSupply
from tests.agents.recipes.folders import MANIFEST, commit_all, write_recipe
from tests.tables import each_row

BAD = {
    "has no recipe.toml": {"recipe.toml": None},
    "not valid TOML": {"recipe.toml": "title ="},
    "'colour', which means nothing": {"recipe.toml": f'{MANIFEST}colour = "red"\n'},
    "title is one line": {"recipe.toml": MANIFEST.replace('"Tiny"', '""')},
    "summary is one line of at most 200": {"recipe.toml": MANIFEST.replace("The smallest", "x" * 200)},
    "start is one line": {"recipe.toml": MANIFEST.replace('"python -m __PACKAGE__"', "3")},
    "languages is a list of names": {"recipe.toml": MANIFEST.replace('["python"]', '"python"')},
    "one or more of node, python": {"recipe.toml": MANIFEST.replace('["python"]', '["cobol"]')},
    "packages is a list of names": {"recipe.toml": f"{MANIFEST}packages = [1]\n"},
    "no team 'rockets'. There is: streamlit": {"recipe.toml": f'{MANIFEST}team = "rockets"\n'},
    "has no skeleton": {"skeleton/README.md": None},
    "house-rules.md: a recipe has no such file": {"house-rules.md": "- Be kind.\n"},
    "prompts for coder, reviewer, tester only": {"prompts/poet.md": "Rhyme.\n"},
    "plan.md has 4,001 characters": {"plan.md": "x" * (MAX_CHARS + 1)},
    "prompts/coder.md has 4,001 characters": {"prompts/coder.md": "x" * (MAX_CHARS + 1)},
    "not text in UTF-8": {"skeleton/logo.txt": b"\xff\xfe"},
    "holds small files": {"skeleton/big.txt": "x" * (MAX_FILE_BYTES + 1)},
    "is too long or holds signs": {"skeleton/a\nb.txt": "x"},
}


@each_row(("said", "files"), BAD.items(), ids=BAD)
def test_a_bad_recipe_is_refused_with_what_is_wrong_in_it(tmp_path, said, files):
    with pytest.raises(RecipeError) as refused:
        load(write_recipe(tmp_path / "tiny", files))
    assert said in str(refused.value)


def test_links_are_refused_wherever_they_lead(tmp_path):
    folder = write_recipe(tmp_path / "tiny")
    (tmp_path / "secret").write_text("s3cret")
    link = folder / "skeleton" / "README.txt"
    for target in (tmp_path / "secret", tmp_path, "README.md"):
        link.symlink_to(target)
        with pytest.raises(RecipeError, match=r"'skeleton/README.txt' is a link"):
            load(folder)
        link.unlink()


def test_too_many_files_are_refused_and_not_read_to_the_end(tmp_path):
    folder = write_recipe(tmp_path / "tiny", {f"skeleton/{number}.txt": "x" for number in range(MAX_FILES)})
    with pytest.raises(RecipeError, match="more than 200 files"):
        load(folder)


@pytest.mark.parametrize("name", ["nothing-like-that", "", "../library", "no/such/folder"])
def test_an_unknown_name_is_refused_with_the_names_that_there_are(name):
    with pytest.raises(RecipeError, match=r"There are .*service-fastapi.*; or name a folder or a git address"):
        load(name)


def test_a_folder_is_read_as_it_is_and_its_hash_changes_with_it(tmp_path):
    folder = write_recipe(
        tmp_path / "Tiny Recipe", {"plan.md": "Make __PACKAGE__.\n", "prompts/coder.md": "Be brief.\n"}
    )
    recipe = load(str(folder))
    assert (recipe.name, recipe.source, recipe.commit) == ("tiny-recipe", str(folder), "")
    assert recipe.files("Big Shop") == {"README.md": "# Big Shop\n"}
    assert recipe.named("Big Shop").plan == "Make big_shop."
    assert recipe.named("Big Shop").start == "python -m big_shop"
    write_recipe(folder, {"skeleton/README.md": "# Other\n"})
    assert load(folder).hash != recipe.hash


def test_a_git_repository_is_read_at_its_head_or_at_a_tag(tmp_path):
    folder = write_recipe(tmp_path / "team-recipe")
    first = commit_all(folder, tag="v1")
    write_recipe(folder, {"skeleton/README.md": "# Newer __NAME__\n"})
    second = commit_all(folder)
    newest, tagged = load(f"file://{folder}"), load(f"file://{folder}#v1")
    assert (newest.name, newest.commit, tagged.commit) == ("team-recipe", second, first)
    assert tagged.source == f"file://{folder}#v1"
    assert [one.files("A")["README.md"] for one in (newest, tagged)] == ["# Newer A\n", "# A\n"]
    assert load(f"file://{folder}#{first}").hash == tagged.hash


@each_row(
    ("address", "said"),
    [
        ("file://{folder}#v9", "no tag, branch or commit 'v9'"),
        ("file://{folder}#--upload-pack=x", "cannot be a tag"),
        ("file:///no/such/place", "no repository at file:///no/such/place"),
        ("http://example.org/recipe.git", "Only https and ssh addresses"),
        ("https://me:secret@example.org/recipe.git", "holds credentials"),
        ("https://127.0.0.1/recipe.git", "private address"),
    ],
)
def test_a_git_address_that_cannot_be_used_is_refused_with_a_sentence(tmp_path, address, said):
    folder = write_recipe(tmp_path / "team-recipe")
    commit_all(folder)
    with pytest.raises(RecipeError) as refused:
        load(address.format(folder=folder))
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)


def test_links_in_a_git_repository_are_refused(tmp_path):
    folder = write_recipe(tmp_path / "team-recipe")
    (folder / "skeleton" / "passwd").symlink_to("/etc/passwd")
    commit_all(folder)
    with pytest.raises(RecipeError, match="'skeleton/passwd' is a link"):
        load(f"file://{folder}")


@each_row(
    ("title", "expected"),
    [
        ("My Shop", Names("My Shop", "my-shop", "my_shop")),
        ('Eve"); import os; ("', Names("Eve ) import os (", "eve-import-os", "eve_import_os")),
        ("a__SLUG__{{ b }}\n", Names("a _SLUG _ b", "a-slug-b", "a_slug_b")),
        ("JSON", Names("JSON", "json-app", "json_app")),
        ("Tests", Names("Tests", "tests-app", "tests_app")),
        ("FastAPI", Names("FastAPI", "fastapi-app", "fastapi_app")),
        ("React", Names("React", "react-app", "react_app")),
        ("2048", Names("2048", "app-2048", "app_2048")),
        ("日本語", Names("日本語", "app", "app")),
        ("--", Names("Project", "project", "project")),
    ],
)
def test_a_title_becomes_names_that_break_no_file_and_shadow_no_package(title, expected):
    assert Names.of(title, ["fastapi", "npm:react"]) == expected


@each_row("recipe", recipes(), ids=lambda one: one.name)
def test_a_built_in_recipe_has_all_that_a_person_needs_to_start(recipe):
    shown = recipe.named("My Shop")
    told = [
        *shown.skeleton,
        *shown.skeleton.values(),
        shown.plan,
        shown.house_rules,
        shown.start,
        *shown.prompts.values(),
    ]
    assert not [text for text in told if "__NAME__" in text or "__SLUG__" in text or "__PACKAGE__" in text]
    assert "My Shop" in shown.skeleton["README.md"]
    assert recipe.plan
    assert recipe.house_rules
    assert not [path for path in recipe.skeleton if path.rpartition("/")[2].startswith(".")], "wheels leave these out"
    for name in recipe.languages:
        one = language(name)
        assert one.manifest in recipe.skeleton
        assert any(one.is_test(path) for path in recipe.skeleton)


@each_row("recipe", recipes(), ids=lambda one: one.name)
def test_a_built_in_recipe_names_packages_that_need_no_question(recipe, tmp_path):
    supply = PackageSupply(tmp_path)
    assert [line for line in recipe.packages if not supply.check(line).allowed] == []


def test_readmes_name_the_packages_that_tests_of_a_tester_import():
    pages = [one.skeleton["README.md"] for one in recipes() if "python" in one.languages]
    assert pages
    assert [page for page in pages if "`pip install pytest hypothesis && pytest`" not in page] == []
