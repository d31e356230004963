"""A question of every kind, with what comes with it when the agents ask."""

from projects.models import Approval
from projects.services.work import approval_requests
from tests.dashboard.story import RUN_DIFF, Story
from tests.rows import emit

REPLY = "import reportlab\n\n\ndef report(rows: list[str]) -> bytes:\n    return reportlab.render(rows)\n"
ON_NO = "The coder is told to continue without it."
FACTS = {
    "ecosystem": "Python",
    "packages": {
        "reportlab": {
            "first": "2004-03-12",
            "newest": "2026-10-02",
            "version": "4.4.1",
            "releases": 120,
            "age_days": 8293,
            "index": "https://packages.example.org/simple",
        }
    },
    "look_alikes": ["report-lab"],
    "wanted": {
        "task": "T-03 Write the report",
        "requirements": [{"key": "FR-03", "text": "The desk prints a list of the day's to-dos."}],
        "words": "A PDF needs fonts and pages, which the standard library does not have.",
    },
}
OLD_TEST = "def test_add():\n    assert add('a') == 'a'\n"
NEW_TEST = "def test_add():\n    assert add('a') == {'title': 'a', 'done': False}\n"


def ask_every_kind(story: Story) -> dict[str, Approval]:
    """Ask them all about the task that is at work; two are about packages, one about code that reaches outside."""
    task = story.run.tasks.get(key="T-03")
    say = {"role": "coder", "task_id": task.pk, "attempt": 1}
    emit(story.run.pk, "thought", summary="A report", payload={"text": "A report"}, blobs={"output": REPLY}, **say)
    change = {"path": "app/run.py", "added": 4, "removed": 0}
    diff = RUN_DIFF.format(blob="1" * 7, argument="command")
    emit(story.run.pk, "file.diff", summary="app/run.py +4 −0", payload=change, blobs={"diff": diff}, **say)

    def ask(kind: str, subject: str, title: str, why: str, payload: dict[str, object], **rest: str) -> Approval:
        of = (
            {"run": story.run, "task": story.stuck if kind == "escalation" or "finding" in payload else task}
            if kind != "settings"
            else {}
        )
        about = {"on_yes": "The code goes on to review and merge.", "on_no": ON_NO, **rest}
        return approval_requests.ask(
            story.project, kind=kind, subject=subject, title=title, why=why, payload=payload, **about, **of
        )

    tests = {"path": "tests/test_todos.py", "test": "test_add", "old": OLD_TEST, "new": NEW_TEST}
    reach = "app/run.py: starts a program (subprocess.call)"
    return {
        "package": ask("package", "reportlab", "Install the package reportlab?", "T-03 wants it.", FACTS),
        "reach": ask(
            *("gate", "reach:T-03:1", "T-03: may this code reach outside?", reach),
            {"reasons": [reach], "paths": ["app/run.py"]},
        ),
        "guard": ask(
            *("gate", "firewall:1", "T-03: may app/report.py be used?", "The file reads the environment."),
            {"path": "app/report.py", "reasons": ["The file reads the environment."], "rule": "guard-environment"},
        ),
        "second": ask(
            *("gate", "f" * 64, "Second person: bandit B602 HIGH is accepted?", "sue says accepted: tests only"),
            {"finding": story.finding.pk, "disposition": "override", "reason": "tests only"},
            on_yes="The finding no longer blocks the change, until the decision expires.",
            on_no="The finding keeps blocking the change.",
        ),
        "removal": ask(
            *("removal", "removal:T-03:1", "T-03: may it take away 1 name that other code may use?"),
            *("app/run.py: shell", {"reasons": ["app/run.py: shell"], "paths": ["app/run.py"], "removed": ["shell"]}),
        ),
        "test_change": ask(
            *("test_change", "tests:T-03:1", "T-03: may it change 1 existing test?"),
            "tests/test_todos.py: test_add is changed",
            {
                "changes": [tests],
                "paths": ["tests/test_todos.py"],
                "reasons": ["tests/test_todos.py: test_add is changed"],
            },
            on_no="The task is escalated: its code was judged by the changed tests.",
        ),
        "settings": ask(
            *("settings", "s" * 64, "Run the tests of Todo API as its aiswe.toml says?"),
            "The repository brings settings for its tests. They hold until the file changes.",
            {"path": "aiswe.toml", "text": '[tests]\nfolders = ["tests"]\n\n[packages]\nneeded = ["httpx"]\n'},
            on_yes="Its tests are run in the sandbox with these arguments, folders, variables and packages.",
            on_no="The file is ignored; its tests are run as they were found.",
        ),
        "escalation": ask(
            *("escalation", "T-02#1", "T-02 Write the rest was not solved", "Two tries failed with the same error."),
            {},
        ),
    }
