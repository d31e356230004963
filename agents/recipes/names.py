"""The names of a new project, as its first files use them."""

from __future__ import annotations

import keyword
import re
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from sandbox.package_index.names import NPM, base_packages, plain_name

_TOKEN = re.compile(r"__(NAME|SLUG|PACKAGE)__")
_OUTSIDE = re.compile(r"[^\w .+()-]|_(?=_)")  # what may mean something in the files that hold the title
# A package of these names would stand in the way of another one.
_TAKEN = frozenset({*sys.stdlib_module_names, *keyword.kwlist, "tests", "src", "backend", "frontend"})
LONGEST = 50


@dataclass(frozen=True)
class Names:
    """`title` for people, `slug` as a-b-c, `package` as a_b_c.

    The title goes into sources, manifests and pages as it is, so it holds nothing that has a meaning there.
    """

    title: str
    slug: str
    package: str

    @classmethod
    def of(cls, title: str, taken: Iterable[str] = ()) -> Names:
        """The names for a title; none is that of a module or of a package in `taken`."""
        shown = " ".join(_OUTSIDE.sub(" ", title).split()).strip("-. ")[:120] or "Project"
        plain = unicodedata.normalize("NFKD", shown).encode("ascii", "ignore").decode().lower()
        slug = "-".join(re.findall(r"[a-z0-9]+", plain))[:LONGEST].strip("-") or "app"
        if not slug[0].isalpha():
            slug = f"app-{slug}"
        names = {*_TAKEN, *base_packages(), *(plain_name(line).removeprefix(NPM) for line in taken)}
        if names & {slug, slug.replace("-", "_")}:
            slug = f"{slug}-app"
        return cls(shown, slug, slug.replace("-", "_"))

    def put_into(self, text: str) -> str:
        """The text with the names in place of its tokens."""
        found = {"NAME": self.title, "SLUG": self.slug, "PACKAGE": self.package}
        return _TOKEN.sub(lambda token: found[token[1]], text)
