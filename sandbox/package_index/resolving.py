"""Whether requirements fit together: a resolver reads the metadata that the index offers; nothing is installed."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.base import PackageRefused
from sandbox.package_index.allowed_index import AllowedIndex
from sandbox.package_index.pip import explained, run_tool
from sandbox.package_index.proxy import IndexProxy

MOST_SAID = 3_000  # characters of a resolver's explanation
UV_WORDS = ["lock", "--no-build", "--no-config", "--no-sources", "--no-cache", "--quiet", "--allow-insecure-host"]


@dataclass(frozen=True)
class Resolution:
    """What a resolver answered: `chosen` are `name==version` when all of it fits, `said` is why it does not."""

    tool: str
    chosen: tuple[str, ...] = ()
    said: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is a choice that fits."""
        return not self.said


def resolve_python(wanted: Sequence[str], runtime: str, allowed_index: AllowedIndex, folder: Path) -> Resolution:
    """Let uv choose versions of these requirement lines for all Pythons that `runtime` names.

    Names on no allow-list are looked at too: their metadata is read and nothing of them runs. Raises IndexUnavailable,
    and PackageRefused without uv and for a package that the allowed index does not give.
    """
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.is_file() else shutil.which("uv")
    if uv is None:
        raise PackageRefused("uv", "the resolver is not installed beside the product: pip install uv")
    project = {"name": "workspace", "version": "0", "requires-python": runtime or ">=3.11", "dependencies": [*wanted]}
    lines = [f"{name} = {json.dumps(value)}" for name, value in project.items()]
    (folder / "pyproject.toml").write_text("[project]\n" + "\n".join(lines) + "\n")
    allowed_index.unlisted = []
    with IndexProxy({"python": allowed_index}) as proxy:
        words = [uv, *UV_WORDS, "127.0.0.1", "--default-index", proxy.python, "--python", sys.executable]
        done = run_tool(words, folder, wanted)
    if done.returncode == 0:
        packages = tomllib.loads((folder / "uv.lock").read_text())["package"]
        found = sorted(f"{one['name']}=={one['version']}" for one in packages if one["name"] != "workspace")
        return Resolution("uv", tuple(found))
    troubles = [*allowed_index.troubles, *proxy.troubles]
    # What could not be looked at is missing to the resolver, which would call it a conflict.
    if troubles or "No solution found" not in done.stderr:
        raise explained(troubles, done.stderr, wanted)
    return Resolution("uv", said=done.stderr.strip()[:MOST_SAID])
