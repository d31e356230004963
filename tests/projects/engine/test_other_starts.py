"""An upgrade is planned once a resolver agrees, and pages that name what went away are found."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from projects.engine import other_starts
from projects.engine.other_starts import update_documentation, upgrade
from projects.errors import BadInput
from projects.models import Project
from projects.services.repositories.importing import CodeSource, import_project
from projects.storage.paths import repository_of
from sandbox.package_index.resolving import Resolution

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued")]
FILES = {
    "requirements.txt": "humanize==4.0.0\nidna>=3; python_version > '3'\n",
    "shop/cart.py": 'def total_price(prices):\n    return sum(prices)\n\n\nOPTION = "--round"\n',
    "docs/use.md": "Call `total_price(prices)`.\n\nWith `--round` it rounds. The totals are exact.\n",
    "CHANGELOG.md": "- `total_price` is new\n",
}


@pytest.fixture
def anna() -> User:
    return User.objects.create_superuser("anna")


@pytest.fixture
def shop(settings: Any, tmp_path: Path, anna: User) -> Project:
    settings.AISWE_HOME = tmp_path / "home"
    for path, text in FILES.items():
        (tmp_path / "code" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "code" / path).write_text(text)
    return import_project(CodeSource(folder=tmp_path / "code"), by=anna, name="Shop").project


def resolving(monkeypatch: pytest.MonkeyPatch, answer: Resolution) -> list[list[str]]:
    asked: list[list[str]] = []
    supply = other_starts.ProjectSupply
    monkeypatch.setattr(supply, "resolve", lambda self, lines, runtime="": asked.append(lines) or answer)
    monkeypatch.setattr(other_starts, "_notes", lambda *_: "4.9.0: natural_list is new")
    return asked


def test_an_upgrade_is_what_the_resolver_chose(shop: Project, anna: User, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = resolving(monkeypatch, Resolution("uv", ("humanize==4.9.0", "idna==3.7")))
    run = upgrade(shop, "Humanize", "4.9.0", by=anna)
    assert asked == [["idna>=3; python_version > '3'", "humanize==4.9.0"]]
    assert run.document is not None
    assert run.document.start["asked"] == ["humanize"]
    assert run.document.start["lines"] == {"requirements.txt": "humanize==4.9.0"}
    text = run.document.requirements.get().text
    assert "humanize==4.9.0 instead of humanize==4.0.0" in text
    assert "natural_list is new" in text


def test_what_does_not_fit_or_is_unknown_is_refused(shop: Project, anna: User, monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, Resolution("uv", said="No solution"))
    with pytest.raises(BadInput, match="uv finds no choice with humanize==9"):
        upgrade(shop, "humanize", "9", by=anna)
    with pytest.raises(BadInput, match="No manifest"):
        upgrade(shop, "flask", "3", by=anna)


@pytest.mark.parametrize(
    ("old", "version", "new"),
    [
        ("a==1", "2", "a==2"),
        ("a[b]~=1.0", "2.1", "a[b]~=2.1"),
        ("a>=1,<2; os_name == 'nt'", "3", "a>=3; os_name == 'nt'"),
        ("npm:@a/b@^1.0.0", "2.0.0", "npm:@a/b@^2.0.0"),
        ("npm:a@1.0.0", "2.0.0", "npm:a@2.0.0"),
    ],
)
def test_a_line_stays_as_tight_as_it_was(old: str, version: str, new: str) -> None:
    assert other_starts._line(old, version) == new


def test_pages_that_name_what_went_away_are_found(shop: Project, anna: User) -> None:
    repository = repository_of(shop)
    since = repository.base_head()
    with pytest.raises(BadInput, match="No page"):
        update_documentation(shop, since, by=anna)
    tree = repository.worktree("rename", since)
    tree.write({"shop/cart.py": 'def total(prices):\n    return sum(prices)\n\n\nOPTION = "--rounded"\n'})
    repository.fast_forward(tree.commit(since, "Rename", "", {}))
    run = update_documentation(shop, since, by=anna)
    assert run.document is not None
    assert run.document.start["stale"] == {"docs/use.md": ["--round", "total_price"]}
    text = run.document.requirements.get().text
    assert "docs/use.md:1 names `total_price`, which is gone; new beside it: total" in text
    assert "CHANGELOG" not in text
    with pytest.raises(BadInput, match="There is no commit"):
        update_documentation(shop, "main", by=anna)
