"""The allowed index and its proxy: what an installer may see, over HTTP as pip and npm would ask."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from sandbox.base import PackageRefused
from sandbox.package_index.allowed_index import AllowedIndex, manifest_of
from sandbox.package_index.allowlist import NODE, PYTHON, AllowList
from sandbox.package_index.errors import NoSuchPackage, PackageUnlisted
from sandbox.package_index.proxy import IndexProxy
from tests.sandbox.local_index import LocalIndex
from tests.tables import each_row

KNOWN = AllowList(frozenset({"goodpkg", "express", "@scope/good"}), cooldown_days=7, young_days=90)


@pytest.fixture
def index() -> Iterator[LocalIndex]:
    with LocalIndex() as opened:
        yield opened


def python_allowed_index(index: LocalIndex, **pins: str) -> AllowedIndex:
    return AllowedIndex(PYTHON, KNOWN, (), index.python, pins)


def node_allowed_index(index: LocalIndex, **changes: object) -> AllowedIndex:
    known = AllowList(KNOWN.names, cooldown_days=7, young_days=90, listed_only=bool(changes.get("listed_only", False)))
    return AllowedIndex(NODE, known, (), index.npm, {})


def read(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_only_wheels_that_are_some_days_old_are_seen(index: LocalIndex) -> None:
    index.add_wheel("goodpkg", {}, version="1.0")
    index.add_wheel("goodpkg", {}, version="2.0", uploaded=datetime.now(UTC) - timedelta(days=1))
    index.add_wheel("goodpkg", {}, version="1.1", uploaded=None)
    index.add_file("goodpkg", "goodpkg-3.0.tar.gz", b"")
    assert {file.version for file in python_allowed_index(index).page("goodpkg").files} == {"1.0", "1.1"}
    assert {file.version for file in python_allowed_index(index, goodpkg="2.0").page("goodpkg").files} == {"2.0"}


@pytest.mark.parametrize(
    ("prepare", "error", "words"),
    [
        (lambda index: None, NoSuchPackage, "no package of this name"),
        (lambda index: index.add_file("goodpkg", "goodpkg-1.0.zip", b""), PackageRefused, "no wheel"),
        (
            lambda index: index.add_wheel("goodpkg", {}, uploaded=datetime.now(UTC)),
            PackageRefused,
            "younger than 7 days",
        ),
    ],
)
def test_what_cannot_be_served_has_a_reason_that_is_kept(index: LocalIndex, prepare, error, words) -> None:  # type: ignore[no-untyped-def]
    prepare(index)
    allowed_index = python_allowed_index(index)
    with pytest.raises(error, match=words):
        allowed_index.page("goodpkg")
    assert isinstance(allowed_index.troubles[0], error)
    assert words in allowed_index.log[0].answer


def test_a_package_in_quarantine_is_refused(index: LocalIndex) -> None:
    index.add_wheel("goodpkg", {})
    index.status["goodpkg"] = "quarantined"
    with pytest.raises(PackageRefused, match="quarantine"):
        python_allowed_index(index).page("goodpkg")


def test_a_name_on_no_list_is_not_even_asked_about(index: LocalIndex) -> None:
    with pytest.raises(PackageUnlisted):
        python_allowed_index(index).page("otherpkg")
    with pytest.raises(PackageUnlisted):
        node_allowed_index(index, listed_only=True).packument("other")
    assert index.asked == []


def test_listed_npm_packages_vouch_for_old_dependencies_and_not_for_young_ones(index: LocalIndex) -> None:
    index.add_npm("old", {})
    index.add_npm("young", {}, uploaded=datetime.now(UTC) - timedelta(days=30))
    assert "1.0.0" in node_allowed_index(index).packument("old")["versions"]
    with pytest.raises(PackageUnlisted) as said:
        node_allowed_index(index).packument("young")
    assert said.value.names == ("npm:young",)


@each_row(
    "wanted",
    [
        "git+https://x/y.git",
        "git://x/y",
        "someone/thing",
        "file:../x",
        "http://x/y.tgz",
        "link:../x",
        "workspace:*",
        "npm:a@git://x",
    ],
)
def test_a_release_that_reaches_past_the_registry_is_not_seen(wanted: str) -> None:
    dist = {"integrity": "sha512-x", "tarball": "https://r/x.tgz"}
    for kind in ("dependencies", "optionalDependencies", "peerDependencies"):
        assert manifest_of("x", "1.0.0", {"dist": dist, kind: {"y": wanted}}) is None
    for sound in ("^1.0.0 || 2.x", "npm:@scope/other@^1", "latest", "*"):
        assert manifest_of("x", "1.0.0", {"dist": dist, "dependencies": {"y": sound}}) is not None


def test_a_release_without_a_strong_hash_is_not_seen() -> None:
    assert manifest_of("x", "1.0.0", {"dist": {"shasum": "00", "tarball": "https://r/x.tgz"}}) is None


def test_the_proxy_serves_the_allowed_indexes_and_only_what_it_offered(index: LocalIndex) -> None:
    index.add_wheel("goodpkg", {"goodpkg.py": "VALUE = 1\n"})
    index.add_npm("@scope/good", {"index.js": ""}, scripts={"postinstall": "x"})
    with IndexProxy({PYTHON: python_allowed_index(index), NODE: node_allowed_index(index)}) as proxy:
        status, page = read(proxy.python + "goodpkg/")
        address = page.decode().split('href="')[1].split("#")[0]
        document = json.loads(read(proxy.npm + "@scope%2fgood")[1])
        tarball = document["versions"]["1.0.0"]["dist"]["tarball"]
        assert status == 200
        assert read(address)[0] == read(tarball)[0] == 200
        assert "scripts" not in document["versions"]["1.0.0"]
        assert proxy.python.split("/")[3] not in index.asked
        root, secret = proxy.python.rsplit("/", 3)[0], proxy.python.split("/")[3]
        bad = [
            "/simple/goodpkg/",
            f"/{secret}x/simple/goodpkg/",
            f"/{secret}/file/99/x.whl",
            f"/{secret}/simple/otherpkg/",
            f"/{secret}/",
        ]
        assert [read(root + path)[0] for path in bad] == [404] * 5
    assert "otherpkg" not in " ".join(index.asked)


def test_an_index_that_sends_without_end_is_cut_off(index: LocalIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.package_index.proxy.MAX_FETCH", 5_000)
    index.add_file("goodpkg", "goodpkg-1.0-py3-none-any.whl", b"x" * 4_000)
    with IndexProxy({PYTHON: python_allowed_index(index)}) as proxy:
        address = read(proxy.python + "goodpkg/")[1].decode().split('href="')[1].split("#")[0]
        assert [read(address)[0] for _ in range(2)] == [200, 404]
