"""Archives hold exactly what the commit holds, and nothing that reaches out of the folder they are unpacked in."""

import io
import os
import stat
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from agents.workspace.export import bundle_of, commit_at, tar_of, zip_of
from agents.workspace.git import GitError
from tests.agents.workspace.by_hand import git

FILES = {
    ".gitattributes": b"*.secret export-ignore\nversion.txt export-subst\n* text=auto\n",
    "kept.secret": b"still here\n",
    "version.txt": b"$Format:%H$\n",
    "windows.txt": b"a\r\nb\r\n",
    "data/blob.bin": bytes(range(256)) * 300,
    "run.sh": b"#!/bin/sh\n",
}
LINKS = {
    "inside": "data/blob.bin",
    "data/up": "../run.sh",
    "folder": "data",
    "out": "../outside",
    "absolute": "/etc/passwd",
    "through": "folder/blob.bin",  # leads through another link
    "hops": "data/../../outside",
}


def _commit(folder: Path, files: dict[str, bytes], links: dict[str, str], *more: str) -> str:
    """A commit made of blobs alone: no attribute, filter or line ending has touched them."""
    rows = [
        f"{'100755' if name == 'run.sh' else '100644'} {_blob(folder, body)}\t{name}" for name, body in files.items()
    ]
    rows += [f"120000 {_blob(folder, target.encode())}\t{name}" for name, target in links.items()]
    git(folder, "update-index", "--index-info", text="".join(f"{row}\n" for row in (*rows, *more)).encode())
    return git(folder, "commit-tree", git(folder, "write-tree"), "-m", "All")


def _blob(folder: Path, body: bytes) -> str:
    return git(folder, "hash-object", "-w", "--stdin", "--no-filters", text=body)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


@pytest.fixture
def commit(repository: Path) -> str:
    return _commit(repository, FILES, LINKS, f"160000 {'1' * 40}\tvendored")


def test_a_zip_holds_the_bytes_of_the_commit_whatever_its_attributes_say(repository: Path, commit: str) -> None:
    archive = zipfile.ZipFile(io.BytesIO(b"".join(zip_of(repository / ".git", commit))))
    assert {name: archive.read(name) for name in FILES} == FILES
    assert archive.testzip() is None
    modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
    assert stat.S_IMODE(modes["run.sh"]) == 0o755
    assert stat.S_IMODE(modes["version.txt"]) == 0o644
    assert stat.S_ISDIR(modes["vendored/"])


def test_links_stay_links_only_when_they_stay_inside(repository: Path, commit: str) -> None:
    archive = zipfile.ZipFile(io.BytesIO(b"".join(zip_of(repository / ".git", commit))))
    links = {info.filename for info in archive.infolist() if stat.S_ISLNK(info.external_attr >> 16)}
    assert links == {"inside", "data/up", "folder"}
    assert {name: archive.read(name).decode() for name in LINKS} == LINKS
    with tarfile.open(fileobj=io.BytesIO(b"".join(tar_of(repository / ".git", commit)))) as packed:
        assert {member.name for member in packed if member.issym()} == links


def test_a_link_whose_name_differs_in_case_alone_from_a_folder_is_a_file(repository: Path) -> None:
    sha = _commit(repository, {"a/b": b"x", "real/c": b"y"}, {"A": "real"})
    archive = zipfile.ZipFile(io.BytesIO(b"".join(zip_of(repository / ".git", sha))))
    assert not any(stat.S_ISLNK(info.external_attr >> 16) for info in archive.infolist())


def test_a_stock_tar_unpacks_the_same_files_and_the_same_commit_gives_the_same_bytes(
    repository: Path, commit: str, tmp_path: Path
) -> None:
    first = b"".join(tar_of(repository / ".git", commit))
    assert first == b"".join(tar_of(repository / ".git", commit))
    target = tmp_path / "unpacked"
    target.mkdir()
    subprocess.run(["tar", "xz"], cwd=target, input=first, check=True)
    assert {name: (target / name).read_bytes() for name in FILES} == FILES
    assert os.access(target / "run.sh", os.X_OK)


def test_a_bundle_is_cloned_with_its_branch_and_leaves_no_reference_behind(
    repository: Path, commit: str, tmp_path: Path
) -> None:
    before = git(repository, "for-each-ref")
    (tmp_path / "all.bundle").write_bytes(b"".join(bundle_of(repository / ".git", commit, "aiswe/run-1")))
    git(tmp_path, "clone", "-q", "--no-checkout", "all.bundle", "cloned")
    assert git(tmp_path / "cloned", "rev-parse", "HEAD") == commit
    assert git(tmp_path / "cloned", "branch", "--show-current") == "aiswe/run-1"
    assert git(repository, "for-each-ref") == before


@pytest.mark.parametrize("name", ["../up", "C:/x", "a\\..\\b", ".GIT/config"])
def test_a_tree_with_a_path_that_leaves_its_folder_is_not_exported(repository: Path, name: str) -> None:
    head, _, last = name.rpartition("/")
    tree = git(repository, "mktree", text=f"100644 blob {_blob(repository, b'x')}\t{last}\n".encode())
    for part in reversed(head.split("/") if head else []):
        tree = git(repository, "mktree", text=f"040000 tree {tree}\t{part}\n".encode())
    sha = git(repository, "commit-tree", tree, "-m", "Bad")
    with pytest.raises(GitError, match="not a path inside"):
        b"".join(zip_of(repository / ".git", sha))


def test_names_that_are_not_utf8_are_kept_by_tar_and_spelled_out_by_zip(repository: Path) -> None:
    tree = git(repository, "mktree", "-z", text=f"100644 blob {_blob(repository, b'x')}\t".encode() + b"n\xe4me\0")
    sha = git(repository, "commit-tree", tree, "-m", "Odd")
    with tarfile.open(fileobj=io.BytesIO(b"".join(tar_of(repository / ".git", sha)))) as packed:
        assert [os.fsencode(member.name) for member in packed] == [b"n\xe4me"]
    assert zipfile.ZipFile(io.BytesIO(b"".join(zip_of(repository / ".git", sha)))).namelist() == ["n\\xe4me"]


@pytest.mark.parametrize("word", ["", "-h", "main..x", "HEAD~1", "main^{tree}", "no-such", "a\nb", "@{1}"])
def test_a_revision_is_a_name_and_nothing_else(repository: Path, commit: str, word: str) -> None:
    git(repository, "update-ref", "refs/heads/main", commit)
    assert commit_at(repository / ".git", "main") == commit_at(repository / ".git", commit[:12]) == commit
    with pytest.raises(GitError, match="names no commit"):
        commit_at(repository / ".git", word)
