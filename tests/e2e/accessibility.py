"""What axe says of a page."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe

OPTIONS = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],  # what is in order fills megabytes, and takes longer to send than to find
}


def complaints_of(page: Any) -> list[str]:
    """What axe finds wrong, with everything folded opened."""
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    found = Axe().run(page, options=OPTIONS).response["violations"]
    return [f"{v['id']}: {node['target']} {node['html'][:200]}" for v in found for node in v["nodes"]]
