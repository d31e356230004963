"""A path stays in the workspace, however it is written."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.firewall.base import FirewallContext
from agents.firewall.judge import inspect
from tests.tables import each_row

INSIDE = (
    "app.py src/app/main.py a/./b a//b a/../b /workspace/app.py .env.example .gitignore conftest.py ünïcode.txt"
).split()
OUTSIDE = [
    *("../x", "a/../../x", "/etc/passwd", "/workspace/../x", "/workspacefoo/x", "..", ".", "a/..", ""),
    *(".git/config", ".git", "a/.GIT/hooks/x", ".git./x", ".git /x", "GIT~1/x", ".git::$INDEX/x", "．git/x"),
    *("a\0b", "a\nb", "a\u202eb", "a\u200bb", "\ud800"),
    *("~/x", "$HOME/x", "`x`", "C:\\x", "..\\x", "c:/x"),
    *("%2e%2e/x", "%252e%252e/x", "..%2fx", "%2fetc/passwd", "．．/x", "a%00b"),
    *("x" * 300, "x/" * 3000 + "y"),
]


@each_row("path", INSIDE)
def test_a_path_inside_the_workspace_is_allowed(path: str) -> None:
    assert inspect("path", path).decision == "allow"


@each_row("path", OUTSIDE)
def test_a_path_that_leaves_or_hides_is_refused(path: str) -> None:
    assert inspect("path", path).decision == "deny"


@pytest.mark.parametrize("path", [".github/workflows/ci.yml", "sitecustomize.py", "x.pth"])
def test_files_that_steer_machinery_ask(path: str) -> None:
    assert inspect("path", path).decision == "approve"


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "out").symlink_to("/etc")
    context = FirewallContext(workspace=str(tmp_path / "in"))
    assert inspect("path", "out/passwd", context=context).rule == "path.link"
    assert inspect("path", "fine/passwd", context=context).decision == "allow"


@given(st.lists(st.sampled_from(["..", ".", "a", "b", "", ".git"]), min_size=1, max_size=8))
def test_what_is_allowed_never_resolves_outside(parts: list[str]) -> None:
    path = "/".join(parts)
    if inspect("path", path).decision == "allow":
        resolved = Path("/workspace", path.lstrip("/") if path.startswith("//") else path)
        depth = 0
        for part in resolved.parts[2:]:
            depth += {"..": -1, ".": 0}.get(part, 1)
            assert part != ".git"
        assert depth > 0
