"""`aiswe scaffold` and `aiswe project new --scaffold`: what they make, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.workspace.git import out
from projects.models import Project
from projects.storage.paths import repository_of
from tests.aiswe_site.answers import CommandLine
from tests.factories import make_user

DOCUMENT = """# Shop

FR-1 The system shall take orders.

```mermaid
flowchart LR
  web["Web app (React)"] --> api[Order API] --> db[(Orders)]
```
"""


@pytest.fixture
def document(tmp_path: Path) -> str:
    path = tmp_path / "shop.md"
    path.write_text(DOCUMENT)
    return str(path)


def test_a_diagram_becomes_files_and_questions(document: str, tmp_path: Path, cli: CommandLine) -> None:
    target = tmp_path / "new" / "Shop"
    found = cli.answers("scaffold", document, "-o", str(target))
    assert [(one["slug"], one["kind"], one["folder"]) for one in found["components"]] == [
        ("web-app", "web", "services/web-app"),
        ("order-api", "service", "services/order-api"),
        ("orders", "database", ""),
    ]
    assert found["questions"][0].startswith("Order API: no technology is named, so it is started with FastAPI")
    assert found["document"]["line"] == 5
    assert sorted(found["files"]) == sorted(
        path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()
    )
    assert (target / "README.md").read_text().startswith("# shop\n")


def test_no_file_is_replaced(document: str, tmp_path: Path, cli: CommandLine) -> None:
    (tmp_path / "README.md").write_text("mine")
    assert "README.md" in cli.refuses("scaffold", document, "-o", str(tmp_path))
    assert (tmp_path / "README.md").read_text() == "mine"
    assert not (tmp_path / "compose.yaml").exists()


@pytest.mark.parametrize(
    ("name", "text", "code", "words"),
    [
        ("a.md", "# Text\n\n![a](b.png)\n", 1, "no diagram that can be read"),
        ("a.md", "```mermaid\ngraph LR\nu[User] --> c[Customer]\n```\n", 1, "it names: User, Customer"),
        ("a.drawio", "<mxfile><diagram>#</diagram></mxfile>", 2, "cannot be unpacked"),
        ("a.drawio", '<!DOCTYPE a [<!ENTITY b "c">]><mxfile/>', 2, "document type"),
        ("a.puml", "@startuml\nactor User\n@enduml\n", 1, "it names: User"),
    ],
)
def test_what_is_no_architecture_is_refused_with_a_sentence(
    name: str, text: str, code: int, words: str, tmp_path: Path, cli: CommandLine
) -> None:
    (tmp_path / name).write_text(text)
    assert words in cli.refuses("scaffold", str(tmp_path / name), "-o", str(tmp_path / "out"), code=code)
    assert not (tmp_path / "out").exists()


@pytest.mark.django_db
@pytest.mark.usefixtures("in_process")
def test_a_project_starts_from_the_diagram_of_its_document(
    document: str, tmp_path: Path, cli: CommandLine, settings
) -> None:
    settings.AISWE_HOME = tmp_path / "home"
    make_user("ada", superuser=True)
    made = cli.answers("project", "new", "Shop", "--prd", document, "--scaffold")
    assert made["questions"][0].startswith("Order API: no technology is named")
    project = Project.objects.get()
    repository = repository_of(project)
    head = repository.base_head()
    assert {"compose.yaml", "services/order-api/Dockerfile"} <= set(repository.files(head))
    message = out(repository.root, "log", "-1", "--format=%B", head)
    assert "Recipe: diagram\n" in message
    assert "Recipe-Source: shop.md\n" in message
    assert "Recipe-Hash: " in message
    assert "services/web-app: web (React)" in project.recipe["plan"]


@pytest.mark.django_db
@pytest.mark.usefixtures("in_process")
def test_a_project_that_cannot_start_from_a_diagram_is_not_made(document: str, prd: str, cli: CommandLine) -> None:
    make_user("ada", superuser=True)
    words = ("project", "new", "Shop", "--scaffold", "--prd")
    assert "no diagram" in cli.refuses(*words, prd, code=1)
    assert "from a recipe or from a diagram" in cli.refuses(*words, document, "--recipe", "service-fastapi")
    assert not Project.objects.exists()
