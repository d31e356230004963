"""Packages: judged by name, fetched as wheels from a local folder, unpacked without running any of their code."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.base import Backend, PackageRefused, SandboxError
from sandbox.import_names import distribution_for
from sandbox.package_index.allowlist import PYTHON, load
from sandbox.package_index.archives import unpack_wheel
from sandbox.package_index.errors import IndexUnavailable, NoSuchPackage
from sandbox.package_index.names import Judgement, base_packages
from sandbox.packages import PackageSupply
from tests.sandbox.local_index import LocalIndex, tar_bytes, wheel_bytes
from tests.tables import each_row


def make_wheel(folder: Path, name: str, files: Mapping[str, str]) -> Path:
    """A wheel in a folder."""
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    wheel.write_bytes(wheel_bytes(name, files))
    return wheel


@pytest.fixture
def index() -> Iterator[LocalIndex]:
    with LocalIndex() as opened:
        yield opened


@pytest.fixture
def supply(tmp_path: Path, index: LocalIndex) -> PackageSupply:
    return PackageSupply(tmp_path / "cache", ["goodpkg", "helperpkg", "requests"], index=index.python)


# -- names ------------------------------------------------------------------------------------------------------------
@each_row(
    "line", ["requests", "Requests>=2,<3", "celery[redis]==5.4", "beautifulsoup4 # parser", "PyYAML", "ruamel.yaml"]
)
def test_a_known_name_is_allowed(tmp_path: Path, line: str) -> None:
    assert PackageSupply(tmp_path).check(line).judgement is Judgement.ALLOWED


@pytest.mark.parametrize(
    ("line", "look_alike"),
    [
        ("reqeusts", "requests"),
        ("djnago", "django"),
        ("python-requests", "requests"),
        ("beautifulsoup", "beautifulsoup4"),
        ("numpyy", "numpy"),
    ],
)
def test_a_look_alike_needs_approval_and_names_what_it_resembles(tmp_path: Path, line: str, look_alike: str) -> None:
    verdict = PackageSupply(tmp_path).check(line)
    assert verdict.judgement is Judgement.NEEDS_APPROVAL
    assert look_alike in verdict.look_alikes


def test_an_unknown_name_needs_approval(tmp_path: Path) -> None:
    assert PackageSupply(tmp_path).check("zzz-internal-helper").judgement is Judgement.NEEDS_APPROVAL


def test_an_approved_name_is_allowed(tmp_path: Path) -> None:
    assert PackageSupply(tmp_path, approved=["Zzz_Internal.Helper"]).check("zzz-internal-helper").allowed


@each_row(
    "line",
    [
        "--extra-index-url https://evil.example/simple",
        "-e .",
        "-r other.txt",
        "git+https://github.com/x/y",
        "requests @ https://evil.example/requests-9-py3-none-any.whl",
        "https://evil.example/x.whl",
        "./requests",
        "/etc/passwd",
        "requests\n--index-url https://evil.example",
        "requests --hash=sha256:00",
        "x" * 600,
        "",
        "requests;;",
    ],
)
def test_anything_but_a_name_with_versions_is_refused(tmp_path: Path, line: str) -> None:
    assert PackageSupply(tmp_path).check(line).judgement is Judgement.REFUSED


def test_another_version_of_a_base_package_is_refused(tmp_path: Path) -> None:
    assert PackageSupply(tmp_path).check("pytest").allowed
    assert PackageSupply(tmp_path).check("pytest==1.0").judgement is Judgement.REFUSED


@given(st.text(max_size=80))
def test_no_line_makes_the_judge_fail(line: str) -> None:
    verdict = PackageSupply(Path("/nonexistent"), ["requests"]).check(line)
    assert verdict.reason
    assert not (verdict.allowed and ("://" in line or line.strip().startswith("-")))


def test_the_allow_list_is_long_enough_and_holds_the_common_names() -> None:
    names = load(PYTHON).names
    assert len(names) > 150
    assert names >= {
        "beautifulsoup4",
        "lxml",
        "markdown2",
        "pyquery",
        "flask",
        "django",
        "sqlalchemy",
        "numpy",
        "pandas",
    }


def test_all_that_the_sandbox_brings_is_on_the_allow_list_or_in_its_lock() -> None:
    assert {"pytest", "coverage", "hypothesis", "fastapi"} <= set(base_packages())
    assert not {"tzdata", "colorama"} & set(base_packages()), "the lock has them for other systems"


def test_a_broken_allow_list_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text("[python\n")
    with pytest.raises(SandboxError, match="allow-list"):
        load(PYTHON, path=tmp_path / "list.toml")


@each_row(
    ("module", "distribution"),
    [
        ("bs4", "beautifulsoup4"),
        ("yaml", "pyyaml"),
        ("PIL.Image", "pillow"),
        ("requests.adapters", "requests"),
        ("json", None),
        ("os.path", None),
        ("not a module", None),
        ("my_module", "my-module"),
    ],
)
def test_a_module_leads_to_its_distribution(module: str, distribution: str | None) -> None:
    assert distribution_for(module) == distribution


# -- fetching ---------------------------------------------------------------------------------------------------------
def test_an_allowed_wheel_is_fetched_with_what_it_needs(supply: PackageSupply, index: LocalIndex) -> None:
    index.add_wheel("goodpkg", {"goodpkg/__init__.py": "VALUE = 1\n"}, needs="helperpkg")
    index.add_wheel("helperpkg", {"helperpkg.py": ""})
    found = supply.fetch(["goodpkg>=1", "", "# a comment", "pytest"])
    assert found.names == ("goodpkg", "helperpkg")
    assert (found.folder / "goodpkg/__init__.py").read_text() == "VALUE = 1\n"
    assert all(len(digest) == 64 for digest in found.hashes.values())
    assert supply.fetch(["goodpkg"]) == found  # the same content, the same place


def test_what_the_sandbox_has_needs_no_fetch(supply: PackageSupply) -> None:
    assert supply.fetch(["pytest", "hypothesis"]).names == ()


def test_a_package_that_does_not_exist_is_refused_by_name(supply: PackageSupply) -> None:
    with pytest.raises(NoSuchPackage, match="goodpkg: there is no package"):
        supply.fetch(["goodpkg"])


def test_an_unlisted_name_is_refused_before_anything_is_asked(supply: PackageSupply) -> None:
    with pytest.raises(PackageRefused, match="otherpkg"):
        supply.fetch(["otherpkg"])


def test_a_dependency_that_is_not_listed_is_refused(supply: PackageSupply, index: LocalIndex) -> None:
    index.add_wheel("goodpkg", {"goodpkg.py": ""}, needs="otherpkg")
    index.add_wheel("otherpkg", {"otherpkg.py": ""})
    with pytest.raises(PackageRefused, match="otherpkg"):
        supply.fetch(["goodpkg"])


def test_a_source_package_never_runs_its_setup(supply: PackageSupply, index: LocalIndex, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    setup = {
        "goodpkg-1.0/setup.py": f"open({str(flag)!r}, 'w')\n",
        "goodpkg-1.0/PKG-INFO": "Metadata-Version: 2.1\nName: goodpkg\nVersion: 1.0\n",
    }
    index.add_file("goodpkg", "goodpkg-1.0.tar.gz", tar_bytes(setup))
    with pytest.raises(PackageRefused, match="no wheel"):
        supply.fetch(["goodpkg"])
    assert not flag.exists()


def test_lines_that_run_at_start_up_are_left_out(supply: PackageSupply, index: LocalIndex, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    poison = f"import os; open({str(flag)!r}, 'w')\n"
    files = {"goodpkg.py": "", "evil.pth": poison, "sitecustomize.py": poison, "goodpkg-1.0.data/scripts/pip": poison}
    index.add_wheel("goodpkg", files)
    found = supply.fetch(["goodpkg"])
    assert sorted(path.name for path in found.folder.glob("*")) == [
        ".aiswe-packages.json",
        "goodpkg-1.0.dist-info",
        "goodpkg.py",
    ]
    assert not flag.exists()


@pytest.mark.parametrize("path", ["../evil.py", "/tmp/evil.py", "a/../../evil.py", "a\\..\\evil.py"])
def test_a_wheel_that_writes_outside_is_refused(tmp_path: Path, path: str) -> None:
    wheel = make_wheel(tmp_path, "goodpkg", {path: "x"})
    with pytest.raises(PackageRefused, match="outside"):
        unpack_wheel(wheel, tmp_path / "target")
    assert not list(tmp_path.rglob("evil.py"))


def test_a_link_in_a_wheel_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "goodpkg-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        link = zipfile.ZipInfo("goodpkg/etc")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc")
    with pytest.raises(PackageRefused, match="link"):
        unpack_wheel(wheel, tmp_path / "target")


def test_a_zip_bomb_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "goodpkg-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("goodpkg/zeros", b"\0" * 50_000_000)
    with pytest.raises(PackageRefused, match="too much"):
        unpack_wheel(wheel, tmp_path / "target")


def test_a_small_table_that_packs_very_well_is_no_bomb(tmp_path: Path) -> None:
    wheel = tmp_path / "goodpkg-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("goodpkg/table.dat", "1000000000000.4\n" * 30_000)
    unpack_wheel(wheel, tmp_path / "target")
    assert (tmp_path / "target/goodpkg/table.dat").stat().st_size == 480_000


def test_a_broken_archive_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "goodpkg-1.0-py3-none-any.whl"
    wheel.write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(PackageRefused, match="not a readable wheel"):
        unpack_wheel(wheel, tmp_path / "target")


def test_code_inside_imports_the_packages_and_cannot_change_them(
    backend: Backend, supply: PackageSupply, index: LocalIndex
) -> None:
    index.add_wheel("goodpkg", {"goodpkg/__init__.py": "VALUE = 41\n"})
    found = supply.fetch(["goodpkg"])
    for _ in range(2):
        with backend.open(packages=found) as box:
            assert box.exec(["python", "-c", "import goodpkg; print(goodpkg.VALUE + 1)"]).out == "42\n"
            assert not box.exec(["sh", "-c", "echo x >> /packages/goodpkg/__init__.py || touch /packages/x"]).ok


def test_an_index_that_loses_a_file_it_offered_is_away_and_not_a_bad_package(
    supply: PackageSupply, index: LocalIndex
) -> None:
    index.add_wheel("goodpkg", {"goodpkg.py": ""})
    index.lose("goodpkg-1.0-py3-none-any.whl")
    with pytest.raises(IndexUnavailable):
        supply.fetch(["goodpkg"])
