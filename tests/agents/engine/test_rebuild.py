"""What is repeated of a failed build reads the project alone."""

from pathlib import Path
from typing import Any, cast

from agents.engine.rebuild import Builder


def test_a_path_that_a_log_names_is_read_inside_the_project_only(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "requirements.txt").write_text("flask\n")
    (tmp_path / "requirements.txt").write_text("secret-package\n")
    (tree / "linked.txt").symlink_to(tmp_path / "requirements.txt")
    builder = Builder(tree, *cast(Any, [None] * 4))
    assert builder.read("requirements.txt") == "flask\n"
    for path in ("../requirements.txt", str(tmp_path / "requirements.txt"), "linked.txt", "none.txt", ""):
        assert builder.read(path) == ""
