"""aiswe sandbox: run something in it, test its isolation, or make its image."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path

import click

from aiswe_site.terminal import output

BACKENDS = click.Choice(["auto", "docker", "bubblewrap"])


@click.group()
def command() -> None:
    """Run a command in the sandbox, test its isolation, or make its image."""


@command.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--backend", type=BACKENDS, default="auto", show_default=True)
@click.option(
    "--dir", "folder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Copied to /workspace."
)
@click.option("--seconds", type=click.FloatRange(0.1, 3600), default=60.0, show_default=True, help="Longest run time.")
@output.json_option
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED)
def run(backend: str, folder: Path | None, seconds: float, argv: tuple[str, ...]) -> int:
    """Run ARGV in a fresh sandbox: no network, no secrets, nothing of this machine but a copy of --dir.

    Ends with the command's own exit code (124 after a time-out); with --json 0 or 1.
    """
    from sandbox.registry import open_backend

    with open_backend(backend).open(label="cli") as place:
        if folder is not None:
            place.mirror(folder.resolve())
        result = place.exec(argv, seconds=seconds)

    def people() -> None:
        sys.stdout.write(output.clean(result.out))
        sys.stdout.flush()
        sys.stderr.write(output.clean(result.err))
        if result.timed_out:
            output.complain(f"{shlex.join(argv)} was stopped after {seconds:g} s.")
        elif result.out_of_memory:
            output.complain(f"{shlex.join(argv)} used more memory than allowed and was stopped.")

    code = output.answer({**asdict(result), "ok": result.ok, "backend": place.backend}, people, ok=result.ok)
    if output.wants_json():
        return code
    if result.timed_out:
        return 124
    return 137 if result.exit_code is None else result.exit_code


@command.command()
@click.option("--backend", type=BACKENDS, default="auto", show_default=True)
@output.json_option
def selftest(backend: str) -> int:
    """Try to get out of the sandbox in every known way; exit code 1 when one works."""
    from sandbox.registry import open_backend
    from sandbox.selftest import probe_backend

    chosen = open_backend(backend, checked=False)  # what does not hold is to be seen probe by probe
    probes = probe_backend(chosen)
    held = all(probe.ok for probe in probes)
    document = {"backend": chosen.name, "ok": held, "checks": [asdict(probe) for probe in probes]}

    def people() -> None:
        for probe in probes:
            output.say(f"{'✓' if probe.ok else '✕'} {probe.name:<28} {probe.detail}")

    return output.answer(document, people, ok=held)


@command.command()
@click.option("--node", is_flag=True, help="The image for Node programs, too.")
@output.json_option
def build(node: bool) -> int:
    """Pull, load or build the image of Docker sandboxes, as configured, unless the engine has it; then check it."""
    from sandbox.build_state import read_build
    from sandbox.docker import connect
    from sandbox.image_builder import BuildEnded, build_now, end_on_signals
    from sandbox.images import build_node_image

    last = ("", -10)

    def show(step: str, percent: float, line: str = "") -> None:
        nonlocal last
        if step != last[0] or percent >= last[1] + 10:
            last = (step, int(percent))
            output.note(f"{percent:3.0f} %  {step}")

    end_on_signals()
    try:
        while (done := build_now(show)) is None:  # another process is at it
            if (theirs := read_build()) is not None:
                show(f"another process is building it: {theirs.step}", theirs.percent)
            time.sleep(1)
        image = done.image
        if node and not done.problem:
            client = connect(900)
            try:
                image = build_node_image(client, show)
            finally:
                client.close()
    except BuildEnded:
        output.complain("The image was not made: it was stopped. Nothing of it is left.")
        return 1
    document = {"ok": not done.problem, "image": image, "problem": done.problem, "hint": done.hint}
    if done.problem:
        output.complain(f"The image was not made: {done.problem}\n  → {done.hint}")
    return output.answer(document, "" if done.problem else f"{image} is ready.", ok=not done.problem)
