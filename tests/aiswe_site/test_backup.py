"""A backup taken while an installation works, and back into an empty folder."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
import subprocess
import zipfile
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from projects.storage import backup
from projects.storage.backup import BackupFailed, Installation, back_up, restore
from tests.aiswe_site.running import COMMAND, aiswe, environment


def git(*words: str, folder: Path) -> str:
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    return subprocess.run(
        ["git", *author, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(folder: Path, text: str) -> str:
    """A commit on main of a bare repository."""
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=folder, input=text, check=True, capture_output=True, text=True
    ).stdout.strip()
    tree = subprocess.run(
        ["git", "mktree"], cwd=folder, input=f"100644 blob {blob}\ta\n", check=True, capture_output=True, text=True
    ).stdout.strip()
    parents = git("for-each-ref", "--format=-p %(objectname)", "refs/heads/main", folder=folder).split()
    sha = git("commit-tree", tree, "-m", text, *parents, folder=folder)
    git("update-ref", "refs/heads/main", sha, folder=folder)
    return sha


@pytest.fixture
def there(tmp_path: Path) -> Installation:
    """A data folder with a database, a repository, keys, heads and memory."""
    home = tmp_path / "home"
    for name, text in {
        "secret_key": "k" * 64,
        "audit/signing_key.pem": "pem",
        "audit/heads.jsonl": "{}\n",
        "chroma/notes.bin": "memory",
        "packages/projects/todo.toml": "[]",
        "logs/aiswe.log": "not kept",
        "worktrees/todo/a": "not kept",
    }.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with closing(sqlite3.connect(home / "db.sqlite3")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE t (n)")
        database.execute("INSERT INTO t VALUES (1)")
        database.commit()
    folder, empty = home / "repositories" / "todo", home / "repositories" / "empty"
    for each in (folder, empty):
        each.mkdir(parents=True)
        git("init", "-q", "--bare", "-b", "main", ".", folder=each)
    sha = commit(folder, "one")
    git("update-ref", "refs/aiswe/7", sha, folder=folder)
    git("update-ref", "refs/notes/x", commit(folder, "two"), folder=folder)
    return Installation(home, home / "db.sqlite3", {"todo": folder, "empty": empty}, nullcontext)


def refs(folder: Path) -> str:
    return git("for-each-ref", folder=folder) + git("symbolic-ref", "HEAD", folder=folder)


def test_what_was_there_is_there_again(there: Installation, tmp_path: Path) -> None:
    file, home = tmp_path / "b.zip", tmp_path / "new"
    back_up(there, file, "1")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert restore(file, home)["repositories"] == ["todo"]
    assert refs(home / "repositories" / "todo") == refs(there.repositories["todo"])
    for name in ("secret_key", "audit/signing_key.pem", "audit/heads.jsonl", "chroma/notes.bin"):
        assert (home / name).read_bytes() == (there.home / name).read_bytes()
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert not (home / "logs").exists()
    with closing(sqlite3.connect(home / "db.sqlite3")) as database:
        assert database.execute("SELECT n FROM t").fetchall() == [(1,)]
    assert {path.name for path in tmp_path.iterdir()} == {"home", "new", "b.zip"}
    assert not list(there.home.glob("backup-*"))


def test_nothing_that_is_there_is_overwritten(there: Installation, tmp_path: Path) -> None:
    file = tmp_path / "b.zip"
    file.write_text("mine")
    with pytest.raises(FileExistsError):
        back_up(there, file, "1")
    assert file.read_text() == "mine"
    back_up(there, tmp_path / "c.zip", "1")
    with pytest.raises(BackupFailed, match="not an empty folder"):
        restore(tmp_path / "c.zip", there.home)


def test_a_merge_during_the_copy_makes_it_be_taken_again(
    there: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, moved = there.repositories["todo"], []
    monkeypatch.setattr(backup, "PAUSE_S", 0)
    copy = backup._copy_database

    def merge_meanwhile(source: Path, target: Path) -> None:
        copy(source, target)
        if len(moved) < 2:
            moved.append(commit(folder, f"meanwhile {len(moved)}"))
            with closing(sqlite3.connect(source)) as database:
                database.execute("INSERT INTO t VALUES (2)")
                database.commit()

    monkeypatch.setattr(backup, "_copy_database", merge_meanwhile)
    back_up(there, tmp_path / "b.zip", "1")
    restore(tmp_path / "b.zip", tmp_path / "new")
    with closing(sqlite3.connect(tmp_path / "new" / "db.sqlite3")) as database:
        assert database.execute("SELECT count(*) FROM t").fetchone() == (3,)
    assert git("rev-parse", "main", folder=tmp_path / "new" / "repositories" / "todo") == moved[1]


def test_a_ref_that_moves_while_the_bundle_is_made_is_put_where_the_database_knows_it(
    there: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = there.repositories["todo"]
    known = git("rev-parse", "main", folder=folder)
    bundle = backup._bundle

    def merge_first(*given: object) -> None:
        commit(folder, "later")
        bundle(*given)  # type: ignore[arg-type]  # passed on

    monkeypatch.setattr(backup, "_bundle", merge_first)
    back_up(there, tmp_path / "b.zip", "1")
    restore(tmp_path / "b.zip", tmp_path / "new")
    assert git("rev-parse", "main", folder=tmp_path / "new" / "repositories" / "todo") == known


def _truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-200])


def _rewritten(change: Callable[[str, bytes], tuple[str, bytes] | None]) -> Callable[[Path], None]:
    def spoil(file: Path) -> None:
        with zipfile.ZipFile(file) as old:
            pairs = [change(name, old.read(name)) for name in old.namelist()]
        with zipfile.ZipFile(file, "w") as new:
            for pair in filter(None, pairs):
                new.writestr(*pair)

    return spoil


def _evil(name: str, data: bytes) -> tuple[str, bytes]:
    if name == "manifest.json":
        found = json.loads(data)
        found["entries"]["../outside"] = found["entries"].pop("secret_key")
        return name, json.dumps(found).encode()
    return ("../outside" if name == "secret_key" else name), data


@pytest.mark.parametrize(
    "spoil",
    [
        _truncated,
        _rewritten(lambda name, data: (name, b"other" if name == "secret_key" else data)),
        _rewritten(lambda name, data: None if name == "secret_key" else (name, data)),
        _rewritten(lambda name, data: None if name == "manifest.json" else (name, data)),
        _rewritten(lambda name, data: (name, b"[]" if name == "manifest.json" else data)),
        _rewritten(_evil),
        lambda file: file.write_text("no zip"),
    ],
)
def test_a_damaged_backup_is_refused_and_leaves_nothing(
    there: Installation, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    file = tmp_path / "b.zip"
    back_up(there, file, "1")
    spoil(file)
    with pytest.raises(BackupFailed):
        restore(file, tmp_path / "below" / "new")
    assert list((tmp_path / "below").iterdir()) == []
    assert not (tmp_path / "outside").exists()


def test_a_full_disk_leaves_no_half_backup(
    there: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "_add", full)
    with pytest.raises(OSError, match="No space"):
        back_up(there, tmp_path / "b.zip", "1")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert not list(there.home.glob("backup-*"))


def test_the_commands_name_what_is_wrong(tmp_path: Path) -> None:
    home = tmp_path / "home"
    made = aiswe("backup", str(tmp_path / "b.zip"), "--json", home=home)
    assert made.returncode == 0, made.stderr
    assert "exists already" in aiswe("backup", str(tmp_path / "b.zip"), home=home).stderr
    assert "There is no folder" in aiswe("backup", str(tmp_path / "no" / "b.zip"), home=home).stderr
    full = aiswe("restore", str(tmp_path / "b.zip"), home=home)
    assert (full.returncode, "is not empty" in full.stderr) == (2, True)
    (tmp_path / "c.zip").write_text("no zip")
    bad = aiswe("restore", str(tmp_path / "c.zip"), home=tmp_path / "new")
    assert (bad.returncode, "not a whole backup" in bad.stderr) == (1, True)
    done = aiswe("restore", str(tmp_path / "b.zip"), "--json", home=tmp_path / "new")
    assert (done.returncode, json.loads(done.stdout)["verified"]) == (0, True), done.stderr


@pytest.mark.stage
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_backup_in_the_middle_of_a_run_restores_and_verifies(tmp_path: Path) -> None:
    home = tmp_path / "home"
    process = subprocess.Popen(
        [*COMMAND, "demo", "--headless", "--json", "--home", str(home), "--tokens-per-s", "400"],
        env=environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    made: list[Path] = []
    try:
        for line in process.stderr:
            if "task.done" in line and len(made) < 3:
                made.append(tmp_path / f"b{len(made)}.zip")
                done = aiswe("backup", str(made[-1]), home=home)
                assert done.returncode == 0, done.stderr
            if len(made) == 3:
                break
        assert process.poll() is None, "the run goes on"
    finally:
        process.terminate()
        process.stderr.close()
        process.wait(120)
    assert len(made) == 3
    for number, file in enumerate(made):
        new = tmp_path / f"new{number}"
        done = aiswe("restore", str(file), "--json", home=new)
        found = json.loads(done.stdout)
        assert (done.returncode, found["problems"]) == (0, []), done.stdout
        assert len(found["repositories"]) == 1
        assert aiswe("audit", "verify", home=new).returncode == 0
        shutil.rmtree(new)
