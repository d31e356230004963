"""aiswe bench swebench: issues of real repositories, worked on by the product and judged by hidden tests."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aiswe_site.cli.commands.sandbox import BACKENDS
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import Missing, WrongUse
from measure.commands.shared import product_gates, served

if TYPE_CHECKING:
    from measure.trials.issue_work import IssueOutcome

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.option("--instances", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--repositories",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with the repositories: owner__name, owner/name or name.",
)
@click.option("--predictions", type=FILE, default="predictions.jsonl", show_default=True)
@click.option("--report", type=FILE, help="The figures, after each instance; next to the predictions by default.")
@click.option("--trajectories", type=FOLDER, help="Write the events of each instance here, a folder per repository.")
@click.option("--model", metavar="MODEL", help="reference (the gold patch), or as for `bench tasks`; else AISWE_MODEL.")
@click.option("--instance", "ids", multiple=True, metavar="ID", help="Only this one; may be repeated.")
@click.option("--allow", multiple=True, metavar="PACKAGE", help="Allow a package that tests need; may be repeated.")
@click.option("--gates", "with_gates", is_flag=True, help="Run the review gates too.")
@click.option("--backend", type=BACKENDS, default="auto", show_default=True, help="The sandbox.")
@output.json_option
def swebench(
    instances: Path,
    repositories: Path,
    predictions: Path,
    report: Path | None,
    trajectories: Path | None,
    model: str | None,
    ids: tuple[str, ...],
    allow: tuple[str, ...],
    with_gates: bool,
    backend: str,
) -> int:
    """Work on each instance of a file in SWE-bench's format, or of a list of bugs, and write predictions.

    An interrupted run continues with the same files. Exit code 1 when an instance was not resolved.
    """
    from agents.gates.base import GateReport
    from agents.llm.runner import ModelRunner
    from measure.trials.datasets import BadDataset
    from measure.trials.issue_reference import reference_model
    from measure.trials.issue_session import Ledger, StillBroken, run_issues
    from measure.trials.issue_work import Workshop
    from measure.trials.issues import load_issues
    from measure.trials.session import OtherSession
    from sandbox.packages import PackageSupply
    from sandbox.registry import open_backend

    if model is None:
        django.start(migrate=False)
        from django.conf import settings

        model = str(settings.MODEL)
    place = report or predictions.with_suffix(".report.json")
    try:
        issues, ledger = load_issues(instances, ids), Ledger(predictions, place, model)
    except (BadDataset, OtherSession) as error:
        raise WrongUse(str(error)) from None
    made = None if model == "reference" else served(model)
    with tempfile.TemporaryDirectory(prefix="aiswe-issues-") as scratch, ModelRunner() as runner:
        shop = Workshop(
            provider_of=lambda issue, repository: made or reference_model(issue, repository),
            backend=open_backend(backend),
            runner=runner,
            supply=PackageSupply(Path(scratch) / "packages", approved=allow),
            gates=product_gates() if with_gates else lambda *_: GateReport("pass", (), {}, ()),
            scratch=Path(scratch),
        )
        try:
            found = run_issues(issues, repositories, shop, ledger, trajectories=trajectories, tell=_tell)
        except StillBroken as stopped:
            raise Missing(str(stopped), "Mend that and start the same command again: it goes on there.") from None
    document = found | {"report": str(place)}
    return output.answer(document, lambda: _people(document), ok=found["resolved"] == found["instances"])


def _tell(outcome: IssueOutcome, done: int, of: int) -> None:
    cause = f": {outcome.cause}" if outcome.cause else ""
    output.note(f"{done}/{of} {outcome.instance_id}: {outcome.status}{cause}"[:200])


def _people(found: dict[str, Any]) -> None:
    output.say(f"resolved {found['resolved']} of {found['instances']}")
    output.say(f"unresolved {found['unresolved']}, empty {found['empty']}, error {found['error']}")
    tokens = found["tokens"]
    output.say(f"{found['calls']} calls, {tokens['sent']:,} tokens sent, {tokens['generated']:,} written")
    output.say(f"{found['seconds']:,.0f} s; {found['predictions']} predictions; report: {found['report']}")
