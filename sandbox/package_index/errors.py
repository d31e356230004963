"""What can go wrong between a name and its files; each error has a different remedy."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.base import PackageRefused, SandboxUnavailable


class IndexUnavailable(SandboxUnavailable):
    """No package index answers: nothing is known about any name, and waiting helps."""


class NoSuchPackage(PackageRefused):
    """The index knows no package of this name: most likely a model made it up."""


class PackageUnlisted(PackageRefused):
    """Dependencies that are not on the allow-list: a person must be asked about `names` (as questions name them)."""

    def __init__(self, names: Sequence[str], reason: str) -> None:
        super().__init__(", ".join(names), reason)
        self.names = tuple(names)
