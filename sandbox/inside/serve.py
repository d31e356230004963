"""The loop of the agent, process 1 of a sandbox."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import NoReturn

from sandbox.inside.commands import Commands
from sandbox.inside.files import ROOT, clear, files_in, files_out, link_packages, listing
from sandbox.inside.pipe import Head, Refused, Wire
from sandbox.inside.processes import drop_privileges

Also = Mapping[str, Callable[[Wire, Commands, Head], NoReturn]]


def about_files(head: Head, body: bytes) -> tuple[Head, bytes] | None:
    """The answer to a request about files; None for any other."""
    kind = head["do"]
    if kind == "put":
        return files_in(head, body)
    if kind == "get":
        return files_out(head)
    if kind == "list":
        return {"files": listing()}, b""
    if kind == "clear":
        return {"missing": clear(head["wanted"])}, b""
    return ({}, b"") if kind == "ping" else None


def serve(wire: Wire, commands: Commands, also: Also) -> None:
    """Answer requests until the worker goes away; `also` are kinds of them that take over from there."""
    while True:
        head, body = wire.receive()
        try:
            kind = head["do"]
            if kind == "run":
                answer = commands.run(head, body)
            elif kind in also:
                also[kind](wire, commands, head)
            elif kind == "warm":
                commands.warm_up()
                continue  # nobody waits for it
            else:
                answer = about_files(head, body) or ({"error": f"unknown request {kind!r}"}, b"")
        except Refused as refusal:
            answer = {"refused": str(refusal)}, b""
        except (OSError, ValueError, RecursionError) as error:
            reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
            answer = {"error": reason}, b""
        wire.send(*answer)


def main(also: Also) -> None:
    """The program of process 1."""
    if os.getpid() != 1:
        sys.exit("the sandbox agent must be process 1 of its own namespace: it kills all it can see")
    wire = Wire()
    hello, _ = wire.receive()
    drop_privileges(int(hello["uid"]), int(hello["gid"]))
    os.umask(0o022)
    os.chdir(ROOT)
    link_packages()
    commands = Commands(wire, hello)
    wire.send({"ready": True, "python": sys.version.split()[0], "uid": os.getuid()})
    serve(wire, commands, also)
