"""Write the tables of docs/ that mirror code, each between its two marks; the prose around them is by hand.

`python scripts/reference_pages.py` writes them; with `--check` it changes nothing and exits with 1 when one is old.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import click

from agents.engine.limits import LIMITS
from agents.events.vocabulary import schema
from agents.gates.base import Severity
from agents.gates.run import DEFAULT_POLICY, REPORTED_ONLY, SCANNERS
from agents.languages.python import syntax
from agents.llm.registry import model_servers
from aiswe_site.cli.app import cli
from aiswe_site.startup.configuration import rows

EXPLAINED_ONCE = ("as_json", "user")  # --json and --as: the page explains them once, above the commands
ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# What each right of projects/services/accounts/rights.py lets a member do.
RIGHTS = {
    "project.view": "see the project, clone and download its code",
    "project.edit": "change its settings",
    "backlog.edit": "change the backlog, its hours and caps, and assign tickets to the agents",
    "member.edit": "add and remove members",
    "document.upload": "upload documents",
    "requirement.edit": "edit and confirm requirements",
    "plan.edit": "edit plans",
    "plan.approve": "approve plans",
    "run.start": "start runs",
    "run.control": "pause, resume and stop runs, message the agents, manage lessons",
    "task.retry": "retry and skip tasks",
    "approval.decide": "answer approvals",
    "target.edit": "name and change places to deploy to",
    "deploy": "deploy, roll back, restart, stop, and close incidents",
    "gate.dispose": "dispose of findings",
    "gate.override": "override severe findings",
    "report.send": "e-mail and schedule reports",
    "audit.export": "export the audit trail and training data",
}


def table(header: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    """A Markdown table. A bar inside a cell is escaped: it would begin the next cell."""
    head = tuple(header)
    cells = [head, ("---",) * len(head), *lines]
    return "".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |\n" for line in cells)


def settings() -> str:
    """Every setting of an installation."""
    return table(
        ("variable", "default", "allowed", "what it is"),
        (
            (
                " or ".join(f"`{name}`" for name in row.variables),
                row.default,
                row.allowed,
                row.about + " (secret)" * row.secret,
            )
            for row in rows()
        ),
    )


def limits() -> str:
    """The limits of a project."""
    return table(
        ("limit", "default", "allowed", "what it is", "reason"),
        (
            (f"`{name}`", f"{spec.default:,}", f"{spec.low:,} to {spec.high:,}", spec.label, spec.reason)
            for name, spec in LIMITS.items()
        ),
    )


def events() -> str:
    """The kinds of event."""
    payloads = {
        kind["type"]: "<br>".join(f"`{name}` {json_type}" for name, json_type in kind["payload"].items())
        for kind in schema()
    }
    return table(
        ("type", "meaning", "payload"),
        ((f"`{kind['type']}`", kind["meaning"], payloads[kind["type"]]) for kind in schema()),
    )


def gates() -> str:
    """The scanners of the review gates."""
    severe = " and ".join(level.name for level in Severity if level >= DEFAULT_POLICY.block_at)
    medium = {"disposition": "; MEDIUM without a disposition", "block": "; MEDIUM", "report": ""}[DEFAULT_POLICY.medium]
    return table(
        ("gate", "what it checks", "files", "findings that block"),
        (
            (
                f"`{name}`",
                inspect.getdoc(scanner),
                ", ".join(sorted(scanner().languages)),
                "none: they are reported" if name in REPORTED_ONLY else severe + medium,
            )
            for name, scanner in SCANNERS.items()
        ),
    )


def servers() -> str:
    """The kinds of model server."""
    return table(
        ("name", "what it is", "default address", "address", "API key"),
        (
            (
                f"`{kind.name}`",
                kind.label,
                f"`{kind.url}`",
                " or ".join(f"`{name}`" for name in (kind.url_variable, kind.url_fallback) if name),
                f"`{kind.key_variable}`" if kind.key_variable else "none",
            )
            for kind in model_servers()
        ),
    )


def permissions() -> str:
    """Which role has which right."""
    from projects.services.accounts.rights import ALL_VERBS, VERBS

    return table(
        ("right", "what it allows", *VERBS),
        (
            (f"`{right}`", RIGHTS[right], *("✓" * (right in verbs) for verbs in VERBS.values()))
            for right in sorted(ALL_VERBS, key=list(RIGHTS).index)
        ),
    )


def scopes() -> str:
    """What an API token can be allowed to do."""
    from projects.services.accounts.api_tokens import SCOPES

    return table(("scope", "for"), ((f"`{scope}`", about) for scope, about in SCOPES.items()))


def commands() -> str:
    """Every command: how it is called, its help, and its arguments and options."""
    return "\n".join(_sections("aiswe", cli))


def _sections(path: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=path)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if below := command.get_command(context, name):
                yield from _sections(f"{path} {name}", below)
        return
    usage = " ".join((path, *(_usage(each, context) for each in command.params)))
    options = [each for each in command.params if isinstance(each, click.Option) and each.name not in EXPLAINED_ONCE]
    described = "".join(f"{_described(each, context)}\n" for each in options)
    yield f"### {path}\n`{usage}`\\\n{' '.join((command.help or '').split())}\n{described}"


def _usage(each: click.Parameter, context: click.Context) -> str:
    """How an argument or an option is written on the command line."""
    if not isinstance(each, click.Option):
        return each.make_metavar(context)
    text = each.opts[-1] + _value(each, context)
    return (text if each.required else f"[{text}]") + "…" * each.multiple


def _value(option: click.Option, context: click.Context) -> str:
    """What follows the name of an option."""
    if option.is_flag:
        return ""
    is_number = option.type.name.startswith(("integer", "float"))
    return " " + (option.metavar or ("N" if is_number else option.make_metavar(context).strip("[]")))


def _described(option: click.Option, context: click.Context) -> str:
    """An option as an item of a list: its names, its default or that it is required, and its help."""
    names = ", ".join(f"`{name}{_value(option, context)}`" for name in option.opts)
    default = option.get_default(context)
    text = (
        ", ".join(default) if isinstance(default, list) else f"{default:g}" if isinstance(default, float) else default
    )
    shown = f" (`{text}`)" if isinstance(text, str | int) and text and not option.is_flag else ""
    about = f": {option.help}" if option.help else ""
    return f"- {names}{' (required)' if option.required else shown}{about}"


def verbs() -> str:
    """Every address of the API."""
    from aiswe_site.verbs.table import VERBS  # needs Django

    rows = ((f"`{one.method} {one.path}`", f"`{one.name}`", one.scope, one.about.splitlines()[0]) for one in VERBS)
    return table(("address below `/api/v1`", "operation", "scope", "what it does"), rows)


def openapi() -> str:
    """The description of the API for generators."""
    from aiswe_site.api.openapi import description

    return json.dumps(description(), indent=1, ensure_ascii=False) + "\n"


def rooms() -> str:
    """The top-level packages, from the top layer down."""
    return table(("room", "what is in it"), ((f"`{room}/`", purpose(ROOT / room)) for room in _rooms()))


def packages() -> str:
    """The packages of each room, and those of `projects/services`, which is as large as a room."""
    found = [
        file.parent
        for room in _rooms()
        for file in sorted(
            (*ROOT.glob(f"{room}/*/__init__.py"), *ROOT.glob(f"{room}/services/*/__init__.py")),
            key=lambda file: file.parent,
        )
        if file.parent.name != "migrations"
    ]
    return table(
        ("package", "what is in it"),
        ((f"`{package.relative_to(ROOT)}/`", purpose(package)) for package in found),
    )


def _rooms() -> list[str]:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return list(configuration["tool"]["importlinter"]["root_packages"])


def purpose(package: Path) -> str:
    """The first sentence of a package's docstring. Raises ValueError for a package without one."""
    documentation = ast.get_docstring(syntax.parse((package / "__init__.py").read_text("utf-8")))
    if not documentation:
        raise ValueError(f"{package}/__init__.py needs a docstring of one line that says what is in the package.")
    return " ".join(documentation.partition("\n\n")[0].split()).removesuffix(".")


PAGES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "explanation/architecture.md": {"rooms": rooms, "packages": packages},
    "reference/api.md": {"verbs": verbs},
    "reference/openapi.json": {},
    "reference/accounts.md": {"permissions": permissions, "scopes": scopes},
    "reference/cli.md": {"commands": commands},
    "reference/configuration.md": {"settings": settings, "limits": limits},
    "reference/events.md": {"events": events},
    "reference/gates.md": {"gates": gates},
    "reference/models.md": {"servers": servers},
}


def written(page: str) -> str:
    """The text of a page with its tables as they should be. Raises ValueError when a mark is missing."""
    if page.endswith("openapi.json"):
        return openapi()
    text = (DOCS / page).read_text("utf-8")
    for name, make in PAGES[page].items():
        before, begin, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        if not end:
            raise ValueError(f"{page} lacks the marks of its table of {name}.")
        text = f"{before}{begin}{make()}{end}{after}"
    return text


def main(arguments: list[str]) -> int:
    """Write the pages; with --check return 1 when one is not current, and name it."""
    pages = {page: written(page) for page in PAGES}
    old = [page for page, text in pages.items() if (DOCS / page).read_text("utf-8") != text]
    for page in old:
        if "--check" in arguments:
            print(f"{page} is not current: run python scripts/reference_pages.py", file=sys.stderr)
        else:
            (DOCS / page).write_text(pages[page], "utf-8")
    return int(bool(old) and "--check" in arguments)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "aiswe_site.settings")
    with tempfile.TemporaryDirectory() as home:
        os.environ["AISWE_HOME"] = home  # loading the settings makes a data folder; this one is nobody's
        import django

        django.setup()
        raise SystemExit(main(sys.argv[1:]))
