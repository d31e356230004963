"""aiswe audit: is the trail whole, and out with it."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import click

from aiswe_site.cli import arguments
from aiswe_site.startup import django
from aiswe_site.terminal import output
from aiswe_site.terminal.problems import WrongUse

READABLE = click.Path(exists=True, dir_okay=False, path_type=Path)
SITE = "site"


@click.group()
def command() -> None:
    """Verify and export the audit trail of a run, or of the site."""


@command.command()
@click.argument("run", type=int, required=False)
@click.option("--head", metavar="HASH", help="A hash kept elsewhere (a commit's Audit-Head): it must be in the chain.")
@click.option(
    "--heads", "file", type=READABLE, help="A copy of the file of head hashes to use instead of this installation's."
)
@click.option(
    "--key", type=READABLE, help="The public key that file must be signed with; this installation's by default."
)
@output.json_option
def verify(run: int | None, head: str | None, file: Path | None, key: Path | None) -> int:
    """Recompute every hash of run RUN, or of all runs and the site's own trail; exit code 1 when anything is wrong.

    The result is compared with what is stored outside the database: the file of heads, and the Audit-Head of the
    commits. Every merged commit must be in the repository. The first bad row is named. Approvals, dispositions, plans,
    states and roles are compared with the trails.
    """
    django.start()
    from aiswe_site.verbs import trails
    from projects.models import Run
    from projects.services.audit import signing
    from projects.services.audit.checkpoints import read_heads

    if head is not None and run is None:
        raise WrongUse("--head belongs to one run.", "Name the run: `aiswe audit verify RUN --head HASH`.")
    noted = read_heads(file, signing.read_public(key.read_text(encoding="utf-8", errors="replace")) if key else None)
    if run is None:
        found = trails.check_all(noted)
        document = found.document
    else:
        arguments.row(Run, run, "run")
        found = trails.check_run(run, noted, head)
        document = found.document | {"heads": trails.heads_document(noted)}
    if not (noted.lines or noted.problem or output.wants_json()):
        output.note(
            f"No head hashes are stored in {noted.path} yet: `aiswe up` does it every minute, `aiswe audit note` now."
        )
    return output.answer(document, "\n".join(found.lines), ok=found.ok)


@command.command()
@click.argument("trail", metavar="RUN|site")
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@click.option(
    "--output",
    "-o",
    "target",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write instead of stdout; its signature is written to FILE.sig.",
)
@output.json_option
def export(trail: str, form: str, target: Path | None) -> None:
    """Print every event of a run, or of the site's own trail, with its hash, oldest first. With --json: one array.

    With --output the file is signed: `aiswe audit check-export` verifies it without the database.
    """
    django.start()
    from projects.models import Run
    from projects.services.audit import exports, signing

    if trail != SITE and not trail.isdecimal():
        raise WrongUse(f"{trail!r} is neither a run's number nor “site”.", "`aiswe history` lists the runs.")
    if trail != SITE:
        arguments.row(Run, int(trail), "run")
    as_array = output.wants_json()
    form = "jsonl" if as_array else form
    lines = exports.export_site if trail == SITE else lambda fmt: exports.export_events(int(trail), fmt)
    if target is None:
        _print(lines(form), sys.stdout, as_array)
        return
    with target.open("w", encoding="utf-8", newline="") as sink:
        _print(lines(form), sink, as_array)
    beside = target.with_name(target.name + ".sig")
    with target.open("rb") as written:
        beside.write_text(exports.signature_of(written, signing.private_key()), encoding="utf-8")
    output.note(f"Signed: {beside}")


def _print(lines: Any, sink: IO[str], as_array: bool) -> None:
    if not as_array:
        for line in lines:
            sink.write(line)
        return
    sink.write("[\n")
    for number, line in enumerate(lines):
        sink.write((",\n" if number else "") + line.rstrip("\n"))
    sink.write("\n]\n")


@command.command("check-export")
@click.argument("file", type=READABLE)
@click.argument("signature", type=READABLE, required=False)
@click.option("--key", type=READABLE, required=True, help="The public key, as `aiswe audit key` printed it.")
@output.json_option
def check_export(file: Path, signature: Path | None, key: Path) -> int:
    """Verify an exported FILE by its SIGNATURE (FILE.sig when left out) and a public key; needs no database.

    For JSON lines every link of the chain is recomputed too.
    """
    from projects.services.audit import exports, signing

    beside = signature or file.with_name(file.name + ".sig")
    if not beside.is_file():
        raise WrongUse(
            f"There is no signature {beside}.", "Name the signature file that `aiswe audit export -o` wrote with it."
        )
    trusted = signing.read_public(key.read_text(encoding="utf-8", errors="replace"))
    with file.open("rb") as handle:
        report = exports.check_export(handle, beside.read_text(encoding="utf-8", errors="replace"), trusted)

    rows = f", {report.rows} rows, every link agrees" if report.rows else ""
    words = f"✓ Signed with key {report.key}{rows}." if report.ok else f"✕ {report.problem}"
    return output.answer(asdict(report), words, ok=report.ok)


@command.command("verify-commit")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("commit")
@click.option(
    "--key", type=READABLE, help="The public key, as `aiswe audit key` printed it; this installation's by default."
)
@output.json_option
def verify_commit(folder: Path, commit: str, key: Path | None) -> int:
    """Verify the signed attestation of COMMIT in FOLDER, a repository or a checkout; needs no database.

    A clone has the attestations after `git fetch origin refs/notes/aiswe:refs/notes/aiswe`. Exit code 1 when there is
    none, it was changed, or it is about something else.
    """
    from projects.services.audit import signing
    from projects.services.audit.attestation import verify_commit as check

    if key is None:
        django.start(migrate=False)
        if not (signing.audit_folder() / signing.KEY_FILE).exists():
            raise WrongUse("This installation has no key yet.", "Name the public key of the other one: --key FILE.")
        trusted = signing.private_key().public_key()
    else:
        trusted = signing.read_public(key.read_text(encoding="utf-8", errors="replace"))
    report = check(folder, commit, trusted)

    def people() -> None:
        if not report.ok:
            output.say(f"✕ {report.problem}")
            return
        told = report.predicate
        keys = ", ".join(row["key"] for row in told["requirements"]) or "none"
        output.say(f"✓ {report.commit[:10]} is attested with key {report.key}.")
        output.say(f"  Task {told['task']} of run {told['run']} in {told['project']}; requirements: {keys}.")
        output.say(f"  Tests: {told['tests'].get('passed', 0)} passed, {told['tests'].get('failed', 0)} failed.")

    return output.answer(asdict(report), people, ok=report.ok)


@command.command()
@output.json_option
def key() -> None:
    """Print the public key with which exports and the file of heads are signed. Keep a copy elsewhere."""
    django.start(migrate=False)
    from projects.services.audit import signing

    public = signing.private_key().public_key()
    pem, name = signing.public_pem(public), signing.fingerprint(public)
    output.answer({"key": pem, "fingerprint": name}, pem.rstrip())


@command.command()
@output.json_option
def note() -> None:
    """Store the head of every trail in the file outside the database now; `aiswe up` does it every minute."""
    django.start()
    from projects.services.audit.checkpoints import heads_path, note_heads

    added = note_heads()
    document = {"path": str(heads_path()), "added": added}
    output.answer(document, f"✓ {added} lines added to {heads_path()}")
