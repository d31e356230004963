"""Try the HTTP API of a running server: a fuzzer on a seeded project, and a generated client from document to code.

    python3 -m venv FUZZ && FUZZ/bin/pip install schemathesis
    python3 -m venv GEN && GEN/bin/pip install openapi-python-client
    .venv/bin/python scripts/api_check.py --schemathesis FUZZ --generator GEN [--cases 2000]

The client is driven through document, confirmation, plan, approval, build and result; its model is a recording, the
rest is real. The fuzzer then sends cases to every operation until there were enough. Exit code 1 when there is a status
of 500 or more or one that is not documented, an answer that breaks its schema, or a build that does not end with its
code. Needs `make install-dev`; neither tool is a dependency.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
AISWE = [sys.executable, "-m", "aiswe_site.cli"]
CHECKS = (
    "not_a_server_error status_code_conformance content_type_conformance response_headers_conformance "
    "response_schema_conformance unsupported_method allow_header_conformance negative_data_rejection"
)
DOCUMENT = "# Sums\n\nFR-01 The program shall add two numbers.\n"
CODE = '"""Sums."""\n\n\ndef add(a: int, b: int) -> int:\n    """a + b."""\n    return a + b\n'
TESTS = "from sums import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
TASK = {
    "key": "T-01",
    "title": "Sums",
    "description": "add(a, b) in its module",
    "kind": "code",
    "agent": "coder",
    "minutes": 10,
    "requirements": ["FR-01"],
    "needs": [],
    "expects": "sums",
    "files": ["sums.py"],
    "packages": [],
}
SCENARIO = {
    "scenario.toml": 'name = "sums"\ntitle = "Sums"\ndescription = "Sums"\nmodel = "m"\nnote = "Made up."\n',
    "plan/planner-infer.md": '{"requirements": []}',
    "plan/planner-plan.md": "One module does it.",
    "plan/planner-structure.md": json.dumps({"tasks": [TASK], "notes": ""}),
    "T-01/tester-tests.md": f"Here it is.\n\n```python path=tests/test_sums.py\n{TESTS}```\n",
    "T-01/coder-code.md": f"Here it is.\n\n```python path=sums.py\n{CODE}```\n",
    "T-01/reviewer-review.md": '{"approved": true, "reasons": ["as asked"]}',
}
# Most cases name what exists, or they would all end in a 404; no stream is waited for.
HOOKS = """
import json, os, random
import schemathesis

KNOWN = json.loads(os.environ["KNOWN"])
CHANCE = random.Random(1)


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    given = path_parameters or {}
    return {
        name: CHANCE.choice(KNOWN[name]) if name in KNOWN and CHANCE.random() < 0.8 else value
        for name, value in given.items()
    }


@schemathesis.hook
def map_query(context, query):
    return {**(query or {}), "seconds": 1} if context.operation.path.endswith("/stream") else query
"""


def environment(home: Path, **more: str) -> dict[str, str]:
    """Ours, with a data folder of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AISWE_")}
    return {**kept, "AISWE_HOME": str(home), "PYTHONPATH": str(REPOSITORY), **more}


@contextmanager
def served(home: Path, scenario: Path) -> Iterator[str]:
    """`aiswe up` on a free port, with the recording as its model; yields its address."""
    more = {"AISWE_MODEL": f"scripted:{scenario}", "AISWE_API_PER_MINUTE": "100000"}
    more["AISWE_DEMO_TOKENS_PER_S"] = "2000"
    with (home / "up.log").open("w") as log:
        argv = [*AISWE, "up", "--port", "0"]
        server = subprocess.Popen(argv, env=environment(home, **more), stdout=subprocess.PIPE, stderr=log, text=True)
        assert server.stdout is not None  # noqa: S101
        try:
            lines = iter(server.stdout.readline, "")
            found = next(match for line in lines if (match := re.search(r"up: (http://\S+)/", line)))
            yield found[1]
        finally:
            server.terminate()
            server.wait(120)


def drive(address: str, token: str) -> None:
    """From a document to tested code, with the generated client alone; prints the result."""

    def call(name: str, *places: Any, **more: Any) -> Any:
        tag = next(tag for tag in TAGS if importlib.util.find_spec(f"aiswe_client.api.{tag}.{name}"))
        answer = importlib.import_module(f"aiswe_client.api.{tag}.{name}").sync(*places, client=client, **more)
        if type(answer).__name__ == "ProblemDetails" or answer is None:
            raise SystemExit(f"{name}: {answer}")
        return answer

    def model(name: str, /, **fields: Any) -> Any:
        return getattr(importlib.import_module("aiswe_client.models"), name).from_dict(fields)

    TAGS = ("projects", "plans", "runs", "approvals")
    client = importlib.import_module("aiswe_client").AuthenticatedClient(base_url=address, token=token, timeout=60)
    project = call("create_project", body=model("CreateProjectInput", name="Sums")).project
    sent = model("AddDocumentInput", text=DOCUMENT, filename="sums.md")
    document = call("add_document", project, body=sent, idempotency_key="one").document
    if call("add_document", project, body=sent, idempotency_key="one").document != document:
        raise SystemExit("The document was added twice.")
    call("confirm_requirements", project, document, body=model("ConfirmRequirementsInput", accept=[]))
    planning = call("propose_plan", project, body=model("ProposePlanInput")).run
    until(lambda: call("run_status", planning), "finished")
    plan = call("show_plan", project)
    asked = next(one for one in call("list_approvals", project=project).approvals if one.subject == plan.hash_)
    call("answer_approval", asked.approval, body=model("AnswerApprovalInput", answer="yes", subject=asked.subject))
    build = call("start_run", plan.plan).run
    until(lambda: call("run_status", build), "finished")
    result = call("run_result", build)
    events = call("run_events", build, limit=500).events
    if not (result.whole and "def add" in call("run_diff", build).diff and call("verify_trail", build).ok):
        raise SystemExit(f"The build is not whole: {result}")
    print(json.dumps({"run": build, "met": result.met, "commit": result.commit[:10], "events": len(events)}))


def until(look: Any, wanted: str) -> None:
    """Wait until a run has this state; one that ends otherwise or takes five minutes is an error."""
    for _ in range(300):
        found = look()
        if found.status == wanted:
            return
        if found.status in ("failed", "cancelled", "needs_you"):
            raise SystemExit(f"Run {found.run} is {found.status}: {found.why}")
        time.sleep(1)
    raise SystemExit(f"Run {found.run} is still {found.status}: {found.why}")


def generated(generator: Path, address: str, token: str, folder: Path) -> bool:
    """Make the client and drive it; whether that went through."""
    command = [generator / "bin" / "openapi-python-client", "generate", "--url", f"{address}/api/v1/openapi.json"]
    subprocess.run([*command, "--meta", "none", "--output-path", folder / "aiswe_client"], stdout=2, check=True)
    argv = [generator / "bin" / "python", __file__, "--drive", address]
    more = {"PYTHONPATH": str(folder), "API_TOKEN": token}
    return subprocess.run(argv, env={**os.environ, **more}).returncode == 0


def fuzzed(tool: Path, address: str, known: dict[str, Any], cases: int, folder: Path) -> bool:
    """Run the fuzzer until there were so many cases; whether it found nothing."""
    (folder / "api_hooks.py").write_text(HOOKS)
    places = {"project": ["todo-api", "notes"], "document": [1, 2], "task": ["T-01", "T-02", "T-03"]}
    places |= {"run": [known["run"]], "plan": [1, known["plan"]], "approval": [1, 2, 3]}
    more = {"PYTHONPATH": str(folder), "SCHEMATHESIS_HOOKS": "api_hooks", "KNOWN": json.dumps(places)}
    done, seed, good = 0, 1, True
    while done < cases and good:
        command = [tool / "bin" / "schemathesis", "run", f"{address}/api/v1/openapi.json", "--seed", str(seed)]
        command += ["-H", f"Authorization: Bearer {known['tokens']['ada']}", "--phases", "coverage,fuzzing"]
        command += ["--max-examples", "25", "--continue-on-failure", "-c", ",".join(CHECKS.split())]
        ran = subprocess.run(command, env={**os.environ, **more}, cwd=folder, text=True, capture_output=True)
        (folder / f"fuzz-{seed}.log").write_text(ran.stdout + ran.stderr)
        found = re.search(r"([\d,]+) generated", ran.stdout)
        done, seed, good = done + int(found[1].replace(",", "") if found else 0), seed + 1, ran.returncode == 0
        print(f"{done} cases{'' if good else ':' + chr(10) + ran.stdout[-6_000:]}")
    return good


def main() -> int:
    """Do what the arguments ask for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--schemathesis", type=Path)
    parser.add_argument("--generator", type=Path)
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--drive", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        drive(given.drive, os.environ["API_TOKEN"])
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        home, scenario = folder / "home", folder / "scenario"
        for name, text in SCENARIO.items():
            (scenario / name).parent.mkdir(parents=True, exist_ok=True)
            (scenario / name).write_text(text)
        seeding = [sys.executable, "-m", "tests.aiswe_site.mcp.seeding"]
        seeded = subprocess.run(seeding, env=environment(home), cwd=REPOSITORY, stdout=subprocess.PIPE, check=True)
        known = json.loads(seeded.stdout)
        with served(home, scenario) as address:
            good = not given.generator or generated(given.generator, address, known["tokens"]["ada"], folder)
            good = (not given.schemathesis or fuzzed(given.schemathesis, address, known, given.cases, folder)) and good
    return int(not good)


if __name__ == "__main__":
    raise SystemExit(main())
