"""The small CRM on the real Streamlit, in the sandbox: fetched from an index through the package supply.

Nothing in the tests asks an outside service unless it is named: STREAMLIT_INDEX=https://pypi.org/simple/ runs this one.
"""

import os
from pathlib import Path

import pytest

from agents.fragments import assembler
from sandbox.packages import PackageSupply
from sandbox.pytest_run import run_pytest
from sandbox.registry import open_backend
from tests.agents.fragments import crm

INDEX = os.environ.get("STREAMLIT_INDEX", "")
pytestmark = [
    pytest.mark.bubblewrap,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not INDEX, reason="STREAMLIT_INDEX names no index to fetch Streamlit from"),
]


def test_the_app_is_drawn_and_a_page_that_fails_is_seen(tmp_path: Path) -> None:
    found = PackageSupply(tmp_path / "packages", index=INDEX).fetch([assembler.FRAMEWORK])
    one, rate = crm.blueprint()["state"]
    one["default"] = "[{'name': 'Ada', 'worth': 10.0}]"
    blueprint, lock = crm.whole(state=[one, rate]), found.locks["requirements.lock.txt"]
    files = assembler.assemble(blueprint, crm.LOGIC, crm.UI, lock) | assembler.tests_of(blueprint)
    assert files[assembler.REQUIREMENTS].startswith("streamlit==1.")
    with open_backend("bubblewrap").open(packages=found) as sandbox:
        sandbox.put({path: text.encode() for path, text in files.items()})
        report = run_pytest(sandbox)
        assert (report.passed, report.failed, report.errors) == (10, 0, 0), report.output
        tests = next(path for path in files if path.endswith("test_app.py"))
        broken = files[assembler.APP].replace(
            'customers = st.session_state["customers"]', "customers = st.session_state['x']"
        )
        sandbox.put({assembler.APP: broken.encode()})
        drawn = run_pytest(sandbox, [tests])
        broken = files[assembler.APP].replace("except ValueError", "except KeyError")
        sandbox.put({assembler.APP: broken.encode()})
        pressed = run_pytest(sandbox, [tests])
        broken = files[assembler.APP].replace("len(customers)", "customers[0]['name']")
        sandbox.put({assembler.APP: broken.encode()})
        emptied = run_pytest(sandbox, [tests])
    assert drawn.failed == 2
    assert 'st.session_state has no key "x"' in drawn.output
    assert pressed.failed == 1
    assert "A customer needs a name." in pressed.output
    assert emptied.failed == 1
    assert "list index out of range" in emptied.output
