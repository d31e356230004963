"""Names of the first release that are retired: no module, and no definition, goes by them again."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

from agents.languages.python import syntax

ROOT = Path(__file__).parent.parent
ROOMS = ("measure", "aiswe_site", "dashboard", "projects", "agents", "sandbox")

# Modules, as they were imported.
MODULES = """
agents.asking agents.effects agents.extraction agents.graph agents.imports agents.nodes agents.oddities agents.policy
agents.ports agents.search agents.settling agents.state agents.testing agents.trials agents.context.js_apis
agents.engine.asking agents.engine.held agents.engine.ports agents.engine.settling agents.engine.nodes.hindsight
agents.engine.nodes.remembering agents.engine.nodes.screening agents.engine.nodes.steering agents.engine.nodes.supply
agents.firewall.code_tables agents.firewall.expanding agents.firewall.inline agents.firewall.rewriting
agents.firewall.shell.expanding agents.firewall.steering agents.firewall.shell.steering agents.firewall.wall
agents.gates.secret_kinds agents.gates.settled agents.llm.aside agents.llm.calls agents.llm.mailbox agents.llm.seats
agents.replies.foreign agents.replies.forms agents.replies.mends agents.replies.tails
agents.replies.where agents.search.together agents.firewall.oddities dashboard.api.door projects.engine.book
projects.engine.models projects.engine.places projects.engine.room projects.engine.spine projects.services.announcing
projects.services.asking projects.services.doorbell projects.services.heads projects.services.windows
projects.services.audit.doorbell projects.services.audit.heads projects.services.insight.windows sandbox.alike
sandbox.decoys sandbox.golden sandbox.shelf sandbox.supply
""".split()
# Symbols of modules that moved, by the last part of their dotted path.
SYMBOLS = """
HOLDS_NOT Mailbox Seats Settled TaskBook Together expanding hear hindsight in_vain left_behind settle
settled_package talk talking way_out
""".split()


def importable(name: str) -> bool:
    """Whether a module of that dotted name can be found."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def test_no_retired_module_exists() -> None:
    assert [name for name in MODULES if importable(name)] == []


def test_a_module_that_exists_is_found() -> None:
    assert importable("agents.engine.ask")


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_is_defined_under_a_retired_name(room: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for node in ast.walk(syntax.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name.strip("_") in SYMBOLS
    ]
    assert found == []
