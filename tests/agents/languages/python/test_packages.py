"""Which imports are a repository's own, and which ask for a package."""

from __future__ import annotations

import pytest

from agents.languages.python.packages import imported_modules, local_modules, needs_of, requirement, unknown_modules
from tests.tables import each_row


@each_row(
    ("path", "name"),
    [
        ("shop/cart.py", "shop"),
        ("cart.py", "cart"),
        ("src/shop/cart.py", "shop"),
        ("src/shop_ns/inner/cart.py", "shop_ns"),
        ("native.pyi", "native"),
        ("fast.cpython-311-x86_64-linux-gnu.so", "fast"),
    ],
)
def test_modules_below_the_root_and_src_are_local(path, name):
    assert name in local_modules([path])


def test_helpers_beside_tests_are_local():
    assert "helpers" in local_modules(["tests/unit/test_a.py", "tests/unit/helpers.py"])
    assert "helpers" not in local_modules(["docs/helpers.py", "tests/test_a.py"])
    assert "shared" in local_modules(["tests/conftest.py", "tests/shared/data.py"])


def test_tests_in_a_package_import_from_where_the_outermost_package_lies():
    paths = ["lib/tests/__init__.py", "lib/tests/unit/__init__.py", "lib/tests/unit/test_a.py", "lib/helper.py"]
    assert "helper" in local_modules(paths)
    assert "unit" not in local_modules(paths)


def test_a_folder_without_code_is_no_module():
    assert "redis" not in local_modules(["redis/redis.conf", "shop.py"])


GUARDED = """
import importlib.util
from typing import TYPE_CHECKING
import pytest

try:
    import fastlib
except ImportError:
    import slowlib
if TYPE_CHECKING:
    import typelib
if importlib.util.find_spec("speclib"):
    import speclib
HAS = importlib.util.find_spec("otherlib") is not None
if HAS:
    import otherlib
skiplib = pytest.importorskip("skiplib")
import skiplib.part
import surelib
"""


def test_guarded_imports_ask_for_nothing():
    assert imported_modules({"a.py": GUARDED}, sure=True) == {"importlib", "typing", "pytest", "surelib"}
    found = needs_of({"a.py": GUARDED}, ["a.py"], "", {}, {})
    assert found.unlisted == ["surelib"]


def test_development_tools_are_not_asked_for_unless_they_are_imported():
    manifest = "click\nruff==0.4\nmypy\ntox>=4\n"
    assert set(needs_of({}, [], manifest, {}, {}).wanted) == {"click"}
    assert set(needs_of({"a.py": "import mypy.api\n"}, ["a.py"], manifest, {}, {}).wanted) == {"click", "mypy"}


@pytest.mark.parametrize("path", ["more_shop/cart.py", "src/more_shop/cart.py"])
def test_a_repository_does_not_need_itself_though_its_plan_names_it(path):
    files = {"tests/test_cart.py": "import more_shop, requests\n"}
    given = {"more-shop": "more_shop", "requests": "requests"}
    assert needs_of(files, [path, *files], "", given, {}).wanted == {"requests": "requests"}


def test_a_planned_package_that_the_code_imports_gets_into_the_list_too():
    files, given = (
        {"core/views.py": "from rest_framework import generics\n"},
        {"djangorestframework": "djangorestframework"},
    )
    assert needs_of(files, files, "django\n", given, {}).unlisted == ["djangorestframework"]
    assert needs_of(files, files, "djangorestframework>=3\n", given, {}).unlisted == []
    assert needs_of({"core/views.py": "import json\n"}, files, "", given, {}).unlisted == []


def test_modules_that_nothing_brings_are_named():
    files = {"tests/test_a.py": "import json\nimport pytest\nimport shop\nimport cart\nimport click\n"}
    assert unknown_modules(files, ["cart.py", *files], ["click>=8"]) == ["shop"]


@each_row(
    ("named", "line"),
    [
        ("rest_framework", "djangorestframework"),
        ("rest-framework >=3.15", "djangorestframework >=3.15"),
        ("yaml==6.0", "pyyaml==6.0"),
        ("PIL", "pillow"),
        ("django", "django"),
        ("django-filter>=24", "django-filter>=24"),
        ("npm:yaml", "npm:yaml"),
        ("sqlite3", ""),
        ("dataclasses>=0.6", ""),
    ],
)
def test_a_package_may_be_named_as_it_is_imported(named, line):
    assert requirement(named) == line


def test_a_planned_package_that_is_named_as_it_is_imported_brings_its_module():
    files = {"tests/test_api.py": "from rest_framework.authtoken.models import Token\n"}
    assert unknown_modules(files, ["shop.py"], ["rest_framework"]) == []
    assert unknown_modules(files, ["shop.py"], ["django"]) == ["rest_framework"]


def test_a_module_that_a_package_here_does_not_hold_is_named():
    there = ["till/__init__.py", "till/coins.py", "till/fast.pyx", "till/notes/__init__.py", "helper.py"]
    text = (
        "from till.till import pay\nimport till.coins, till.fast\nfrom till.notes.euro import x\nfrom till import y\n"
    )
    text += "import till._version\nimport helper.more\n"
    assert unknown_modules({"test_a.py": text}, there, []) == ["till.till"]
    assert unknown_modules({"test_a.py": text}, [f"src/{path}" for path in there], []) == ["till.till"]


def test_what_a_file_imported_before_the_task_and_no_manifest_names_is_not_needed() -> None:
    """Its repository does without it, or its tests bring it: a task that changes the file asks nobody about it."""
    before, after = "import outcome\n", "import outcome\nimport boto3\n"
    found = needs_of({"a.py": after}, ["a.py"], "", {}, {"a.py": before})
    assert (set(found.wanted), found.unlisted) == ({"boto3"}, ["boto3"])
    assert set(needs_of({"a.py": after}, ["a.py"], "outcome\n", {}, {"a.py": before}).wanted) == {"boto3", "outcome"}
    assert set(needs_of({"a.py": after}, ["a.py"], "", {"outcome": "outcome"}, {"a.py": before}).wanted) == {
        "boto3",
        "outcome",
    }
