"""The program as it is called."""

import subprocess
import sys
from pathlib import Path

import pytest

from __PACKAGE__.cli import main

ROOT = Path(__file__).parent.parent


def test_without_arguments_it_ends_well() -> None:
    assert main([]) == 0


def test_an_unknown_option_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--no-such-option"])
    assert ended.value.code == 2
    assert "--no-such-option" in capsys.readouterr().err


def test_it_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "__PACKAGE__", "--version"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[0]) == (0, "__SLUG__")
