"""What the pages load: vendored as reviewed, small, and without anything the content policy would block."""

import gzip
import hashlib
import json
import re
from pathlib import Path

from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
VENDOR = ROOT / "static" / "vendor"
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SCRIPTS = sorted((ROOT / "static" / "js").glob("*.js"))
STYLES = sorted((ROOT / "static" / "css").glob("*.css"))


def test_vendored_files_are_the_ones_that_were_reviewed() -> None:
    listed = {}
    for package in json.loads((VENDOR / "vendor.json").read_text()):
        assert package["licence"]
        assert package["integrity"].startswith("sha512-")
        listed |= package["sha256"]
    there = {
        str(path.relative_to(VENDOR)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.parent != VENDOR and "__pycache__" not in path.parts
    }
    assert there == listed
    assert any(name.endswith("LICENSE") for name in listed)


def packed(paths: list[Path]) -> int:
    return sum(len(gzip.compress(path.read_bytes(), 9)) for path in paths)


def test_a_cold_page_is_light() -> None:
    base, *pages = [ROOT / "templates" / "base.html", *(ROOT / "templates" / "pages").glob("*.html")]
    for page in pages:
        named = set(re.findall(r"(?:css|js)/(\w+\.(?:css|js))", base.read_text() + page.read_text()))
        assert packed([path for path in STYLES if path.name in named]) <= 15_000, page
        scripts = [path for path in SCRIPTS if path.name in named]
        assert packed([*scripts, *VENDOR.rglob("*.js")]) <= 30_000, page


@each_row("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_template_holds_what_the_policy_blocks(path: Path) -> None:
    source = re.sub(r"\{%.*?%\}", "", path.read_text())
    assert not re.search(r"\sstyle\s*=", source)
    assert not re.search(r"\son[a-z]+\s*=", source)
    assert "hx-on" not in source
    assert not re.search(r'hx-trigger="[^"]*\[', source), "htmx evaluates a trigger's filter"
    assert "js:" not in source
    assert not re.search(r"<script(?![^>]*\ssrc=)", source)
    assert not re.search(r"https?://(?!www\.w3\.org)", source)
    assert "|safe" not in source
    assert "autoescape off" not in source


@each_row("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_form_that_posts_carries_its_token(path: Path) -> None:
    for form in re.findall(r"<form\b[^>]*method=\"post\".*?</form>", path.read_text(), re.S):
        assert "{% csrf_token %}" in form


def test_the_dashboard_talks_to_projects_alone() -> None:
    for path in (ROOT / "dashboard").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) (agents|sandbox|aiswe_site)\b", path.read_text(), re.M), path


def test_tokens_keep_their_contrast() -> None:
    css = (ROOT / "static" / "css" / "tokens.css").read_text()
    for block in re.findall(r"\{([^{}]*--bg:[^{}]*)\}", css):
        token = dict(re.findall(r"--([a-z-]+):\s*(#[0-9a-f]{6})", block))
        for name in ("text", "muted", "accent", "ok", "warn", "err", "run", "needs"):
            grounds = ["bg", "surface", "sunken"] + ([f"{name}-tint"] if f"{name}-tint" in token else [])
            for ground in grounds:
                assert contrast(token[name], token[ground]) >= 4.5, (name, ground)
        for ground in ("bg", "surface", "sunken"):
            assert contrast(token["control"], token[ground]) >= 3
        assert contrast(token["on-accent"], token["accent"]) >= 4.5


def contrast(one: str, two: str) -> float:
    """WCAG contrast of two colours."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    a, b = sorted((light(one), light(two)), reverse=True)
    return (a + 0.05) / (b + 0.05)
