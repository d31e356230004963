"""A project made of code that is there."""

import io
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from projects.errors import BadInput
from projects.models import Project, SiteEvent
from projects.services.repositories.importing import CodeSource, folder_on_page, import_project, named_on_command_line
from projects.storage.paths import repository_of, repository_path

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _home(settings: Any, tmp_path: Path) -> None:
    settings.AISWE_HOME = tmp_path / "home"


@pytest.fixture
def anna() -> User:
    return User.objects.create_user("anna")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "mono"
    (folder / "parts" / "shop").mkdir(parents=True)
    (folder / "parts" / "shop" / "a.py").write_text("A = 1\n")
    for argv in (["init", "-q", "-b", "trunk"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *argv], cwd=folder, check=True)
    return folder


def test_a_git_folder_becomes_a_project_at_its_branch_with_an_entry_in_the_trail(checkout: Path, anna: User) -> None:
    made = import_project(CodeSource(folder=checkout), by=anna)
    project = Project.objects.get()
    assert (project.name, project.base_branch, project.source) == ("mono", "trunk", str(checkout))
    assert repository_of(project).head() == made.head
    assert repository_of(project).files(made.head) == ["parts/shop/a.py"]
    assert SiteEvent.objects.get().action == "project.imported"


def test_a_folder_inside_a_repository_is_its_subfolder(checkout: Path, anna: User) -> None:
    assert import_project(CodeSource(folder=checkout / "parts"), by=anna).project.subfolder == "parts"
    with pytest.raises(BadInput, match="no folder 'elsewhere'"):
        import_project(CodeSource(folder=checkout), by=anna, subfolder="elsewhere")
    with pytest.raises(BadInput, match="no folder"):
        import_project(CodeSource(folder=checkout), by=anna, subfolder="parts/../..")


def test_a_plain_folder_and_an_archive_become_a_first_commit(tmp_path: Path, anna: User) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.py").write_text("A = 1\n")
    made = import_project(named_on_command_line(str(tmp_path / "plain")), by=anna, branch="work")
    assert (made.project.base_branch, repository_of(made.project).files(made.head)) == ("work", ["a.py"])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("shop-1.0/b.py", "B = 2\n")
    made = import_project(CodeSource(archive=file, archive_name="shop-1.0.zip"), by=anna, name="Shop")
    assert (made.project.slug, repository_of(made.project).files(made.head)) == ("shop", ["b.py"])


def test_what_cannot_be_taken_in_leaves_no_project_and_no_file(checkout: Path, anna: User, settings: Any) -> None:
    for source in (
        CodeSource(folder=checkout),
        CodeSource(address="file:///etc"),
        CodeSource(archive=io.BytesIO(b"x")),
    ):
        with pytest.raises(BadInput):
            import_project(source, by=anna, branch="none-such")
    assert not Project.objects.exists()
    places = settings.AISWE_HOME / "repositories"
    assert not places.exists() or not list(places.iterdir())


def test_a_repository_that_is_there_already_is_never_replaced(checkout: Path, anna: User, settings: Any) -> None:
    there = settings.AISWE_HOME / "repositories" / "mono"
    there.mkdir(parents=True)
    (there / "kept").write_text("1")
    with pytest.raises(BadInput, match=r"a repository at .* already"):
        import_project(CodeSource(folder=checkout), by=anna)
    assert (there / "kept").exists()
    assert not Project.objects.exists()
    assert sorted(path.name for path in there.parent.iterdir()) == ["mono"]


def test_an_address_with_credentials_is_refused_and_nowhere_kept(anna: User) -> None:
    with pytest.raises(BadInput, match="holds credentials") as refused:
        import_project(CodeSource(address="https://anna:sesame@example.org/a.git"), by=anna)
    assert "sesame" not in str(refused.value)
    assert not SiteEvent.objects.exists()


def test_pages_take_folders_below_the_listed_roots_only(checkout: Path, tmp_path: Path, settings: Any) -> None:
    settings.IMPORT_ROOTS = []
    with pytest.raises(BadInput, match="AISWE_IMPORT_ROOTS"):
        folder_on_page(str(checkout))
    settings.IMPORT_ROOTS = [str(tmp_path / "open")]
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "link").symlink_to(checkout)
    answers = set()
    for path in (checkout, tmp_path / "none", tmp_path / "open" / "link", tmp_path / "open" / ".." / "mono", "\0"):
        with pytest.raises(BadInput) as refused:
            folder_on_page(str(path))
        answers.add(str(refused.value))
    assert len(answers) == 1  # it does not tell what lies elsewhere
    settings.IMPORT_ROOTS = [str(tmp_path)]
    assert folder_on_page(str(checkout)).folder == checkout


def test_a_folder_below_a_root_brings_no_repository_from_above_it(checkout: Path, anna: User, settings: Any) -> None:
    settings.IMPORT_ROOTS = [str(checkout / "parts")]
    made = import_project(folder_on_page(str(checkout / "parts" / "shop")), by=anna)
    assert repository_of(made.project).files(made.head) == ["a.py"]
    assert repository_path(made.project).name == "shop"


def test_the_command_line_says_what_a_source_is(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no folder or archive"):
        named_on_command_line(str(tmp_path / "none"))
    assert named_on_command_line("git@example.org:a/shop.git").name == "shop"


def test_specifications_in_the_repository_become_documents(tmp_path: Path, anna: User) -> None:
    spec = tmp_path / "plain" / "specs" / "001-cart"
    spec.mkdir(parents=True)
    (spec / "spec.md").write_text("# Cart\n\nFR-001 The system shall keep the cart.\n")
    (spec / "plan.md").write_text("It must use SQLite.\n")
    (tmp_path / "plain" / ".kiro" / "specs" / "x").mkdir(parents=True)
    (tmp_path / "plain" / ".kiro" / "specs" / "x" / "requirements.md").write_bytes(b"\0" * 99)
    made = import_project(named_on_command_line(str(tmp_path / "plain")), by=anna)
    (document,) = made.project.documents.all()
    assert (document.place, document.status) == ("specs/001-cart/spec.md", "extracted")
    assert [row.author_key for row in document.requirements.filter(origin="explicit")] == ["FR-001"]
    assert "SQLite" in document.background
    assert "Specifications that became documents: 1 (specs/001-cart/spec.md)." in made.notes
    assert any(".kiro/specs/x/requirements.md" in note for note in made.notes)
