"""The firewall judges what an answer writes, not what stood in the file before."""

import pytest

from tests.agents.engine.nodes.support import APPROVED, Bench, code, task

pytestmark = pytest.mark.bubblewrap
STOOD = "import sys\n\n\nclass Frame:\n    def names(self):\n        return sys._getframe(1).f_globals\n"
ADD = "\n\ndef add(a: int, b: int) -> int:\n    return a + b\n"
MORE = "\n\ndef others():\n    return sys._getframe(1).f_globals\n"
TESTS = "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5"


@pytest.mark.parametrize(
    ("answers", "refused"),
    [([STOOD + ADD], 0), ([STOOD + ADD + MORE, STOOD + ADD], 1), ([STOOD.replace("1", "2") + ADD, STOOD + ADD], 1)],
    ids=["as it stood", "once more", "changed"],
)
def test_what_stood_in_the_file_is_not_the_answers(tmp_path, answers, refused):
    replies = {"tester-tests": code("tests/test_calc.py", TESTS), "reviewer-review": APPROVED}
    replies |= {name: code("calc.py", text) for name, text in zip(("coder-code", "coder-again"), answers, strict=False)}
    bench = Bench(tmp_path, replies, task(files=["calc.py"]))
    bench.start_with({"calc.py": STOOD})
    assert bench.run()["verdict"] == "merged"
    assert len(bench.event_log.of("guard.blocked")) == refused
