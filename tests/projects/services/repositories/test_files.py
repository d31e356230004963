"""Archives and folders: what is taken of them, and what is refused before anything is written."""

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from agents.workspace.addresses import SourceRefused
from agents.workspace.fetching import PlainFile
from projects.services.repositories.files import read_archive, read_folder
from tests.tables import each_row


def tar(*members: tuple[str, bytes], mode: str = "w:gz", odd: tuple[tarfile.TarInfo, ...] = ()) -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:  # type: ignore[call-overload]  # the mode varies
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in odd:
            archive.addfile(info)
    return file


def odd(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zipped(*members: tuple[str, bytes], links: tuple[tuple[str, str], ...] = ()) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
        for name, target in links:
            info = zipfile.ZipInfo(name)
            info.external_attr = 0o120777 << 16
            archive.writestr(info, target)
    return file


def paths(files: list[PlainFile]) -> list[str]:
    return sorted(file.path for file in files)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_source_distribution_comes_without_its_one_top_folder(mode: str) -> None:
    file = tar(("shop-1.0/PKG-INFO", b"x"), ("shop-1.0/shop/a.py", b"y"), ("shop-1.0/shop/a.pyc", b"z"), mode=mode)
    found = read_archive(file, "shop.tar", megabytes=1)
    assert paths(found) == ["PKG-INFO", "shop/a.py"]


def test_an_archive_with_several_tops_stays_as_it_is() -> None:
    assert paths(read_archive(zipped(("a/b", b""), ("c", b"")), "x.zip", megabytes=1)) == ["a/b", "c"]


def test_git_s_own_folder_never_comes_along() -> None:
    found = read_archive(zipped(("a/.git/hooks/post-checkout", b"id"), ("a/b.py", b"")), "x.zip", megabytes=1)
    assert paths(found) == ["b.py"]


def test_links_inside_stay_links_and_other_names_become_files() -> None:
    file = tar(("a/b", b"1"), odd=(odd("a/c", tarfile.SYMTYPE, "b"), odd("a/d/e", tarfile.LNKTYPE, "a/b")))
    found = {one.path: (one.content, one.mode) for one in read_archive(file, "x.tar.gz", megabytes=1)}
    assert found == {"b": (b"1", "100644"), "c": (b"b", "120000"), "d/e": (b"1", "100644")}


@each_row(
    "file",
    [
        tar(("../a", b"")),
        tar(("/etc/a", b"")),
        tar(("a/../../b", b"")),
        tar(("a\\..\\b", b"")),
        tar(odd=(odd("a/b", tarfile.SYMTYPE, "/etc/passwd"),)),
        tar(odd=(odd("a/b", tarfile.SYMTYPE, "../../x"),)),
        tar(odd=(odd("top/b", tarfile.SYMTYPE, "../x"),)),
        tar(odd=(odd("a/b", tarfile.LNKTYPE, "/etc/passwd"),)),
        tar(odd=(odd("a/b", tarfile.LNKTYPE, "a/none"),)),
        tar(odd=(odd("a/b", tarfile.CHRTYPE),)),
        tar(odd=(odd("a/b", tarfile.FIFOTYPE),)),
        tar((f"{'x' * 401}", b"")),
        tar(("a\x1b[31m", b"")),
        zipped(("../a", b"")),
        zipped(("C:/a", b"")),
        zipped(("a", b""), links=(("b", "/etc/passwd"),)),
        zipped(("bomb", b"\0" * 30_000_000)),
        tar(("bomb", b"\0" * 30_000_000)),
        tar(("a", os.urandom(1_200_000))),
        io.BytesIO(b"nothing of the kind"),
        io.BytesIO(b""),
        io.BytesIO(b"PK\x03\x04" + b"\0" * 40),
    ],
    ids=range(22),
)
def test_what_would_leave_its_folder_or_is_too_much_is_refused(file: io.BytesIO) -> None:
    with pytest.raises(SourceRefused):
        read_archive(file, "x", megabytes=1)


def test_a_folder_comes_without_what_tools_leave_and_says_what_was_left_out(tmp_path: Path) -> None:
    for name in ("a.py", "__pycache__/a.pyc", "node_modules/x/y.js", "env/pyvenv.cfg", "env/lib/z.py", "pkg/b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    (tmp_path / "pkg" / "in").symlink_to("../a.py")
    (tmp_path / "out").symlink_to("/etc/passwd")
    (tmp_path / "up").symlink_to("..")
    os.mkfifo(tmp_path / "pipe")
    found, notes = read_folder(tmp_path, megabytes=1)
    assert paths(found) == ["a.py", "pkg/b.py", "pkg/in"]
    assert notes == ["Left out: 2 link(s) that lead out of the folder.", "Left out: 1 device(s) or pipe(s)."]


def test_a_folder_that_is_too_big_is_refused(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"\0" * 1_000_001)
    with pytest.raises(SourceRefused, match="more than 1 MB"):
        read_folder(tmp_path, megabytes=1)
