"""Case 29: a package index full of traps. Whatever is on it, nothing of it ever runs on the machine that fetches."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sandbox.base import Backend, PackageRefused, Sandbox
from sandbox.package_index.archives import unpack_tarball, unpack_wheel
from sandbox.package_index.errors import IndexUnavailable, NoSuchPackage, PackageUnlisted
from sandbox.package_index.locks import Lock, learned
from sandbox.package_index.names import Judgement
from sandbox.packages import PackageSupply
from tests.needs import missing
from tests.sandbox.conftest import SMALL
from tests.sandbox.local_index import LocalIndex, tar_bytes, wheel_bytes
from tests.tables import each_row

ALLOWED = ["goodpkg", "helperpkg", "requests"]


@pytest.fixture
def index() -> Iterator[LocalIndex]:
    with LocalIndex() as opened:
        yield opened


@pytest.fixture
def flag(tmp_path: Path) -> Iterator[Path]:
    """What every payload tries to make on the host; it must not be there when the test ends."""
    file = tmp_path / "flag"
    yield file
    assert not file.exists(), "code of a package ran on the host"


@pytest.fixture
def supply(tmp_path: Path, index: LocalIndex) -> PackageSupply:
    return PackageSupply(tmp_path / "cache", ALLOWED, approved=["npm:trap"], index=index.python, registry=index.npm)


def need_npm() -> None:
    if shutil.which("npm") is None:
        missing("npm is not installed (Node.js 20 brings it)")


def python_trap(flag: Path, name: str) -> str:
    """Python that leaves a mark in /tmp of wherever it runs, and the flag on the host."""
    return f"for f in ('/tmp/ran-{name}', {str(flag)!r}):\n    try: open(f, 'w').close()\n    except OSError: pass\n"


def node_trap(flag: Path, name: str) -> str:
    """The same for Node."""
    return (
        f"for (const f of ['/tmp/ran-{name}', {json.dumps(str(flag))}]) try "
        f"{{ require('fs').writeFileSync(f, '') }} catch {{}}\n"
    )


# -- names -------------------------------------------------------------------------------------------------------------
@each_row(
    ("name", "original"),
    [
        ("reqeusts", "requests"),
        ("requests2", "requests"),
        ("python-requests", "requests"),
        ("npm:expres", "express"),
        ("npm:@free/lodash", "lodash"),
        ("npm:l0dash", "lodash"),
    ],
)
def test_a_look_alike_is_a_question_and_is_never_fetched_by_itself(
    tmp_path: Path, index: LocalIndex, name: str, original: str
) -> None:
    supply = PackageSupply(tmp_path, index=index.python, registry=index.npm)
    verdict = supply.check(name)
    assert verdict.judgement is Judgement.NEEDS_APPROVAL
    assert original in verdict.look_alikes
    with pytest.raises(PackageRefused, match="looks like"):
        supply.fetch([name])
    assert index.asked == []


def test_a_made_up_name_is_told_apart_from_an_index_that_is_away(supply: PackageSupply, index: LocalIndex) -> None:
    for name in ("easy-json-tools", "npm:easy-json-tools"):
        with pytest.raises(NoSuchPackage):
            supply.look_up(name)
    index.stop()
    with pytest.raises(IndexUnavailable):
        supply.look_up("easy-json-tools")


def test_a_name_of_our_own_comes_from_our_own_index_whatever_version_others_offer(
    tmp_path: Path, index: LocalIndex, flag: Path
) -> None:
    index.add_wheel("acme_tools", {"acme_tools.py": python_trap(flag, "confused")}, version="99.0")
    with LocalIndex() as ours:
        ours.add_wheel("acme_tools", {"acme_tools.py": "OURS = True\n"}, version="1.0")
        more = tmp_path / "more.toml"
        more.write_text(f'[python.indexes]\n"acme-*" = "{ours.python}"\n')
        found = PackageSupply(tmp_path / "cache", more=[more], index=index.python).fetch(["acme-tools"])
    assert "acme_tools-1.0-py3-none-any.whl" in found.hashes
    assert index.asked == []


def test_an_index_named_by_the_environment_or_a_repository_is_not_asked(
    supply: PackageSupply, index: LocalIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: Path
) -> None:
    index.add_wheel("goodpkg", {"goodpkg.py": ""})
    configuration = tmp_path / "pip.conf"
    with LocalIndex() as evil:
        evil.add_wheel("goodpkg", {"goodpkg.py": python_trap(flag, "extra")}, version="99.0")
        configuration.write_text(f"[global]\nextra-index-url = {evil.python}\n")
        monkeypatch.setenv("PIP_CONFIG_FILE", str(configuration))
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", evil.python)
        assert "goodpkg-1.0-py3-none-any.whl" in supply.fetch(["goodpkg"]).hashes
        for line in (
            f"--extra-index-url {evil.python}",
            f"goodpkg --index-url {evil.python}",
            f"goodpkg @ {evil.root}/x.whl",
        ):
            with pytest.raises(PackageRefused):
                supply.fetch([line])
        assert evil.asked == []


@each_row(
    "line",
    [
        "git+https://127.0.0.1/x.git",
        "goodpkg @ git+https://127.0.0.1/x.git",
        "npm:trap@git+https://127.0.0.1/x.git",
        "npm:trap@file:../x",
        "npm:trap@http://127.0.0.1/x.tgz",
        "npm:trap@someone/trap",
        "npm:../trap",
        "npm:.npmrc@/x",
    ],
)
def test_code_from_anywhere_but_an_index_is_refused(supply: PackageSupply, index: LocalIndex, line: str) -> None:
    assert supply.check(line).judgement is Judgement.REFUSED
    with pytest.raises(PackageRefused):
        supply.fetch([line])
    assert index.asked == []


# -- what is in the files
# -----------------------------------------------------------------------------------------------
def test_a_source_archive_is_never_built(supply: PackageSupply, index: LocalIndex, flag: Path) -> None:
    trap = python_trap(flag, "setup")
    backend = '[build-system]\nrequires = []\nbuild-backend = "trap"\nbackend-path = ["."]\n'
    files = {"setup.py": trap, "trap.py": trap, "pyproject.toml": backend, "PKG-INFO": "Name: goodpkg\nVersion: 1.0\n"}
    index.add_file(
        "goodpkg", "goodpkg-1.0.tar.gz", tar_bytes({f"goodpkg-1.0/{name}": text for name, text in files.items()})
    )
    with pytest.raises(PackageRefused, match="nothing is built"):
        supply.fetch(["goodpkg"])
    assert "/files/goodpkg-1.0.tar.gz" not in index.asked


def test_a_wheel_that_writes_outside_of_its_folder_is_refused(
    supply: PackageSupply, index: LocalIndex, tmp_path: Path
) -> None:
    index.add_wheel("goodpkg", {"goodpkg.py": "", "../goodpkg.pth": "x"})
    with pytest.raises(PackageRefused, match="outside"):
        supply.fetch(["goodpkg"])
    for path in (
        "../goodpkg.pth",
        "/tmp/goodpkg.pth",
        "a/../../../x.py",
        "goodpkg-1.0.data/purelib/../../x.py",
        "a:b\\x.py",
    ):
        wheel = tmp_path / "goodpkg-1.0-py3-none-any.whl"
        wheel.write_bytes(wheel_bytes("goodpkg", {path: "x"}))
        with pytest.raises(PackageRefused, match="outside"):
            unpack_wheel(wheel, tmp_path / "target")
    assert [file.name for file in tmp_path.rglob("*") if file.name in ("x.py", "goodpkg.pth")] == []


def test_a_wheel_that_stands_before_the_standard_library_or_the_test_tools_is_refused(
    supply: PackageSupply, index: LocalIndex, tmp_path: Path
) -> None:
    index.add_wheel("goodpkg", {"goodpkg.py": "", "json.py": ""})
    with pytest.raises(PackageRefused, match="shadow the real one"):
        supply.fetch(["goodpkg"])
    for module in (
        "os/__init__.py",
        "pytest.py",
        "_pytest/runner.py",
        "coverage/__init__.py",
        "pydantic/main.py",
        "abc.so",
    ):
        wheel = tmp_path / "goodpkg-1.0-py3-none-any.whl"
        wheel.write_bytes(wheel_bytes("goodpkg", {module: ""}))
        with pytest.raises(PackageRefused, match="shadow the real one"):
            unpack_wheel(wheel, tmp_path / "target")


def test_what_was_fetched_once_may_not_change_under_its_version(
    supply: PackageSupply, index: LocalIndex, tmp_path: Path
) -> None:
    index.add_wheel("goodpkg", {"goodpkg.py": "GOOD = True\n"})
    first = supply.fetch(["goodpkg"])
    swapped = wheel_bytes("goodpkg", {"goodpkg.py": "GOOD = False\n"})
    index.swap("goodpkg-1.0-py3-none-any.whl", swapped, on_page=False)
    with pytest.raises(PackageRefused):
        supply.fetch(["goodpkg"])
    index.swap("goodpkg-1.0-py3-none-any.whl", swapped, on_page=True)
    lock = learned(Lock(), first.locks)
    with pytest.raises(PackageRefused, match="not what it was"):
        PackageSupply(tmp_path / "other", ALLOWED, index=index.python, lock=lock).fetch(["goodpkg"])


def test_a_release_of_today_is_not_seen(tmp_path: Path, index: LocalIndex, flag: Path) -> None:
    index.add_wheel("tabulate", {"tabulate.py": ""}, version="1.0")
    stolen = datetime.now(UTC) - timedelta(hours=2)
    index.add_wheel("tabulate", {"tabulate.py": python_trap(flag, "new")}, version="1.1", uploaded=stolen)
    found = PackageSupply(tmp_path, index=index.python).fetch(["tabulate"])
    assert "tabulate-1.0-py3-none-any.whl" in found.hashes


# -- npm
# -----------------------------------------------------------------------------------------------------------------
def test_npm_s_traps_are_not_seen_not_run_and_not_unpacked(
    supply: PackageSupply, index: LocalIndex, tmp_path: Path, flag: Path
) -> None:
    need_npm()
    hook = f"touch {flag}"
    scripts = {"preinstall": hook, "install": hook, "postinstall": hook, "prepare": hook}
    index.add_npm("trap", {"index.js": "", "binding.gyp": "{}"}, scripts=scripts, bin={"trap": "../../../../bin/sh"})
    index.add_npm("trap", {"index.js": ""}, version="2.0.0", dependencies={"x": "git+https://127.0.0.1/x.git"})
    index.add_npm("trap", {"index.js": ""}, version="3.0.0", dependencies={"x": "file:../../x"})
    index.add_npm("trap", {"index.js": ""}, version="4.0.0", bundleDependencies=["x"])
    found = supply.fetch(["npm:trap"])
    assert set(found.hashes) == {"trap-1.0.0.tgz"}
    assert (found.folder / "node_modules/trap/index.js").is_file()
    assert not (found.folder / "node_modules/.bin").exists()
    index.add_npm("trap", {"index.js": ""}, version="1.1.0", dependencies={"newborn": "^1"})
    index.add_npm("newborn", {"index.js": node_trap(flag, "newborn")}, uploaded=datetime.now(UTC) - timedelta(days=20))
    with pytest.raises(PackageUnlisted, match="20 days old"):
        supply.fetch(["npm:trap@1.1.0"])


def test_an_npm_archive_that_writes_outside_or_links_is_refused(tmp_path: Path) -> None:
    archives = [
        tar_bytes({"package/../../evil.js": "x"}),
        tar_bytes({"/tmp/evil.js": "x"}),
        tar_bytes({"package/a\\..\\evil.js": "x"}),
        tar_bytes({"package/a.js": ""}, {"package/evil.js": "/etc/passwd"}),
        b"no archive",
        tar_bytes({"package/big": b"0" * 50_000_000}),
    ]
    for data in archives:
        (tmp_path / "trap.tgz").write_bytes(data)
        with pytest.raises(PackageRefused):
            unpack_tarball(tmp_path / "trap.tgz", tmp_path / "target")
    assert list(tmp_path.rglob("evil.js")) == []


# -- in the sandbox
# ------------------------------------------------------------------------------------------------------
def test_what_traps_do_when_they_are_used_stays_in_the_sandbox(
    backend: Backend, supply: PackageSupply, index: LocalIndex, flag: Path
) -> None:
    """Imports, start-up files, test set-up, build back ends and Makefiles run, if at all, inside and find nothing
    there.
    """
    files = {
        name: python_trap(flag, "start")
        for name in ("goodpkg.pth", "sitecustomize.py", "usercustomize.py", "conftest.py")
    }
    files |= {"goodpkg-1.0.data/scripts/python": "#!/bin/sh\n", "goodpkg-1.0.data/data/bin/python": "#!/bin/sh\n"}
    plugin = {"goodpkg-1.0.dist-info/entry_points.txt": "[pytest11]\ntrap = goodpkg\n"}
    index.add_wheel("goodpkg", {"goodpkg.py": python_trap(flag, "import"), **files, **plugin})
    wanted = ["goodpkg"]
    if shutil.which("npm"):
        hook = {"postinstall": "node index.js"}
        index.add_npm("trap", {"index.js": node_trap(flag, "node")}, scripts=hook)
        wanted.append("npm:trap")
    approved = ["goodpkg", "npm:trap"]  # by a person: its test plug-in is still not loaded
    found = PackageSupply(supply._cache, [], approved=approved, index=index.python, registry=index.npm).fetch(wanted)
    with backend.open(limits=SMALL, packages=found) as box:
        _use_everything(box, flag)
        ran = {name.strip() for name in box.exec(["ls", "/tmp"]).out.splitlines() if name.startswith("ran-")}
    assert "ran-start" not in ran
    assert {"ran-import", "ran-conftest", "ran-build"} <= ran  # the traps are real: they did run, in there


def _use_everything(box: Sandbox, flag: Path) -> None:
    build = (
        '[project]\nname = "x"\nversion = "1"\n[build-system]\nrequires = []\nbuild-backend = '
        '"back"\nbackend-path = ["."]\n'
    )
    files = {
        "tests/conftest.py": python_trap(flag, "conftest"),
        "tests/test_a.py": "def test_a(): pass\n",
        "pyproject.toml": build,
        "back.py": python_trap(flag, "build"),
        "setup.py": python_trap(flag, "setup"),
        "Makefile": f"all:\n\t-touch /tmp/ran-make {flag}\n",
        ".npmrc": "ignore-scripts=false\nregistry=http://127.0.0.1:1/\n",
    }
    box.put({name: text.encode() for name, text in files.items()})
    assert box.exec(["python", "-c", "pass"]).ok
    assert "ran-" not in box.exec(["ls", "/tmp"]).out  # no package runs because Python starts
    assert "1 passed" in box.exec(["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]).out
    assert "ran-import" not in box.exec(["ls", "/tmp"]).out  # nor because tests do
    box.exec(["python", "-c", "import goodpkg"])
    box.exec(["python", "-c", "import back"])  # what a build front end does first
    for argv in (["make"], ["python", "setup.py", "install"], ["node", "-e", "require('trap')"]):
        box.exec(argv)
