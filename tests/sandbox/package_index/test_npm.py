"""npm packages: npm chooses, we fetch and unpack; locks keep what was chosen."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agents.languages.node.packages import joined_lock
from sandbox.base import Backend, PackageRefused
from sandbox.package_index.errors import NoSuchPackage
from sandbox.package_index.locks import Lock, learned
from sandbox.packages import PackageSupply
from tests.needs import missing
from tests.sandbox.conftest import SMALL, backend, docker_engine
from tests.sandbox.local_index import LocalIndex

__all__ = ["backend", "docker_engine"]


@pytest.fixture
def index() -> Iterator[LocalIndex]:
    if shutil.which("npm") is None:
        missing("npm is not installed (Node.js 20 brings it)")
    with LocalIndex() as opened:
        yield opened


def supply(folder: Path, index: LocalIndex, lock: Lock | None = None) -> PackageSupply:
    return PackageSupply(folder, index=index.python, registry=index.npm, lock=lock)


def test_a_tree_of_packages_is_fetched_locked_and_used_in_the_sandbox(
    backend: Backend, index: LocalIndex, tmp_path: Path
) -> None:
    one, two = "module.exports = 1\n", "module.exports = 2\n"
    index.add_npm("ms", {"index.js": one}, version="1.0.0")
    index.add_npm("ms", {"index.js": two}, version="2.0.0", bin={"ms": "./index.js"})
    index.add_npm("debug", {"index.js": "module.exports = require('ms')\n"}, dependencies={"ms": "^1"})
    index.add_npm("fsevents", {"index.js": ""}, os=["darwin"])
    index.add_npm("vite", {"index.js": ""}, optionalDependencies={"fsevents": "*"})
    found = supply(tmp_path, index).fetch(["npm:debug", "npm:ms@^2", "npm:vite"])
    assert set(found.hashes) == {"ms-1.0.0.tgz", "ms-2.0.0.tgz", "debug-1.0.0.tgz", "vite-1.0.0.tgz"}
    assert (found.folder / "node_modules/.bin/ms").resolve() == (found.folder / "node_modules/ms/index.js").resolve()
    resolved = [
        entry.get("resolved", "") for entry in json.loads(found.locks["package-lock.json"])["packages"].values()
    ]
    assert all(address.startswith(index.root) for address in resolved if address)
    with backend.open(limits=SMALL, packages=found) as box:
        said = box.exec(["node", "-p", "[require('debug'), require('ms')].join()"])
        assert said.out == "1,2\n", said.err
        assert not box.exec(["sh", "-c", "echo x >> /packages/node_modules/ms/index.js"]).ok


def test_an_option_that_is_not_to_be_had_leaves_a_lock_that_npm_ci_accepts(index: LocalIndex, tmp_path: Path) -> None:
    index.add_npm("rollup-linux", {"index.js": ""}, os=["linux"])
    index.add_npm("rollup-android", {"index.js": ""}, os=["android"], uploaded=datetime.now(UTC))
    options = {"rollup-linux": "1.0.0", "rollup-android": "1.0.0"}
    index.add_npm("vite", {"index.js": ""}, optionalDependencies=options)
    found = supply(tmp_path / "supply", index).fetch(["npm:vite"])
    packages = json.loads(found.locks["package-lock.json"])["packages"]
    assert packages["node_modules/vite"]["optionalDependencies"] == {"rollup-linux": "1.0.0"}
    manifest = {"name": "shop", "version": "1.0.0", "dependencies": {"vite": "*"}}
    lock = joined_lock("", found.locks["package-lock.json"], json.dumps(manifest))
    (tmp_path / "package.json").write_text(json.dumps(manifest))
    (tmp_path / "package-lock.json").write_text(lock)
    words = ["npm", "ci", "--no-audit", "--no-fund", f"--registry={index.npm}", f"--cache={tmp_path / 'cache'}"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_was_locked_stays_though_newer_releases_appear(index: LocalIndex, tmp_path: Path) -> None:
    index.add_npm("ms", {"index.js": ""}, version="1.0.0")
    first = supply(tmp_path / "a", index).fetch(["npm:ms"])
    index.add_npm("ms", {"index.js": "new\n"}, version="1.1.0")
    again = supply(tmp_path / "b", index, learned(Lock(), first.locks)).fetch(["npm:ms"])
    assert again.hashes == first.hashes
    assert set(supply(tmp_path / "c", index).fetch(["npm:ms"]).hashes) == {"ms-1.1.0.tgz"}


def test_a_file_that_is_not_what_the_registry_promised_is_refused(index: LocalIndex, tmp_path: Path) -> None:
    index.add_npm("ms", {"index.js": ""})
    index.swap("ms-1.0.0.tgz", b"something else", on_page=False)
    with pytest.raises(PackageRefused, match="hash differs"):
        supply(tmp_path, index).fetch(["npm:ms"])


def test_what_npm_cannot_find_is_told_with_its_name(index: LocalIndex, tmp_path: Path) -> None:
    index.add_npm("ms", {"index.js": ""})
    with pytest.raises(NoSuchPackage, match="npm:debug"):
        supply(tmp_path, index).fetch(["npm:debug"])
    with pytest.raises(PackageRefused, match=r"npm:ms: no release fits \^9"):
        supply(tmp_path, index).fetch(["npm:ms@^9"])
