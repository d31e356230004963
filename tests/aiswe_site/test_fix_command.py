"""`aiswe fix`: a log in, its cause and the run that plans the fix out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from projects.models import Run
from projects.services.repositories.importing import CodeSource, import_project
from tests.aiswe_site.answers import CommandLine

pytestmark = [pytest.mark.django_db, pytest.mark.bubblewrap, pytest.mark.usefixtures("in_process", "enqueued")]
TRACE = 'Traceback (most recent call last):\n  File "/srv/shop/cart.py", line 2, in total\nTypeError: unsupported\n'


def test_the_command_says_cause_and_what_comes_next(settings: Any, tmp_path: Path, cli: CommandLine) -> None:
    settings.AISWE_HOME = tmp_path / "home"
    (tmp_path / "code/shop").mkdir(parents=True)
    (tmp_path / "code/shop/cart.py").write_text("def total(prices):\n    return sum(prices)\n")
    import_project(CodeSource(folder=tmp_path / "code"), by=User.objects.create_superuser("anna"), name="Shop")
    log = tmp_path / "build.log"
    log.write_text(TRACE)
    told = cli.answers("fix", "shop", str(log), "--as", "anna")
    assert told["cause"]["file"] == "shop/cart.py"
    assert told["run"] == Run.objects.get().pk
    log.write_text("fine")
    assert "Nothing in this log looks like a failure" in cli.refuses("fix", "shop", str(log), "--as", "anna")
