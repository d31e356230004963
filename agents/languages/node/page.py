"""The page of a front end, built and opened once: what no test of a component sees."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath

from sandbox.base import Sandbox
from sandbox.built_page import BuiltPage, open_built_page
from sandbox.test_report import Failure

CONFIGURED = ("vite.config.js", "vite.config.mjs", "vite.config.ts", "vite.config.mts")
PAGE = "index.html"


def page_folders(paths: Collection[str]) -> list[str]:
    """Folders that Vite builds a page from: they hold its configuration and `index.html`."""
    folders = (PurePosixPath(path).parent for path in sorted(paths) if PurePosixPath(path).name in CONFIGURED)
    roots = ((str(folder), str(folder / PAGE)) for folder in folders)
    return [folder for folder, page in roots if page in paths]


def page_failures(sandbox: Sandbox, paths: Collection[str]) -> list[Failure]:
    """What is wrong with the pages among these files of /workspace.

    Nothing where the sandbox can neither build nor open them. Raises SandboxUnavailable.
    """
    found = []
    for folder in page_folders(paths):
        page = str(PurePosixPath(folder) / PAGE)
        found += [Failure(page, said, said) for said in _said(open_built_page(sandbox, folder))]
    return found


def _said(page: BuiltPage) -> list[str]:
    if page.problem:
        return [f"The page could not be built: {page.problem}"]
    if page.missing and not page.built and not page.output:
        return []
    if not page.built:
        return [f"The page cannot be built: {page.output}"]
    if page.errors:
        return [f"The built page, opened in a browser: {error}" for error in page.errors[:3]]
    return ["The built page, opened in a browser, shows nothing."] if page.empty else []
