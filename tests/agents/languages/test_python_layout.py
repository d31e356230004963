"""The layout of repositories that others wrote, read as data."""

from agents.languages.layouts import RepositoryLayout
from agents.languages.registry import language


def layout_of(files: dict[str, str]) -> RepositoryLayout:
    found = language("python").layout(sorted(files), lambda path: files.get(path, ""))
    assert found is not None
    return found


def test_a_package_below_src_puts_src_on_the_path() -> None:
    found = layout_of({"src/shop/__init__.py": "", "tests/test_shop.py": "import shop\n"})
    assert (found.style, found.source_roots, found.test_paths) == ("src", ("src",), ("tests",))
    assert found.setup.python_path == ("src",)
    assert found.setup.arguments == ("tests",)
    assert (found.needed, found.useful, found.problem) == ((), (), "")


def test_a_flat_package_with_its_tests_inside_needs_no_path() -> None:
    found = layout_of({"shop/__init__.py": "", "shop/tests/test_cart.py": "", "shop/tests/makers.py": ""})
    assert (found.style, found.test_paths, found.helpers) == ("flat", ("shop/tests",), ("shop/tests/makers.py",))
    assert found.setup.python_path == ()


def test_pytest_is_asked_where_tests_and_packages_are() -> None:
    ini = "[pytest]\ntestpaths = checks more/*\npythonpath = lib\n"
    files = {"pytest.ini": ini, "lib/a.py": "", "checks/test_a.py": "", "more/one/test_b.py": "", "other/test_c.py": ""}
    found = layout_of(files)
    assert (found.test_paths, found.setup.python_path) == (("checks", "more/one"), ("lib",))


def test_the_file_that_configures_pytest_is_the_one_that_pytest_would_take() -> None:
    files = {"pyproject.toml": "[tool.black]\n", "tox.ini": "[pytest]\naddopts = -v\n", "test_a.py": ""}
    assert layout_of(files).setup.configuration == "tox.ini"
    assert layout_of({**files, "pytest.toml": "[pytest]\n"}).setup.configuration == "pytest.toml"
    assert layout_of({"test_a.py": ""}).setup.configuration == ""


def test_options_that_hide_failures_or_need_absent_plugins_are_left_out() -> None:
    project = "[tool.pytest.ini_options]\naddopts = \"-n auto -x --cov=shop --strict-config -m 'not slow' -W error\"\n"
    found = layout_of({"pyproject.toml": project, "test_a.py": ""})
    assert found.setup.arguments == ("--override-ini=addopts=-m 'not slow' -W error", ".")


def test_options_that_do_no_harm_stay_the_repository_s_own() -> None:
    project = '[tool.pytest.ini_options]\naddopts = ["-ra", "--strict-markers"]\n'
    assert layout_of({"pyproject.toml": project, "test_a.py": ""}).setup.arguments == (".",)


STANDARD = """
[project]
name = "web-shop"
version = "2.1"
requires-python = ">=3.9"
dependencies = ["polars>=1", "colorama; sys_platform == 'win32'", "unused-thing", "mypy"]
[project.optional-dependencies]
tests = ["web-shop[extra]", "freezegun", "pytest"]
extra = ["rich"]
docs = ["sphinx"]
[dependency-groups]
dev = [{include-group = "lint"}, "responses"]
lint = ["ruff"]
"""


def test_what_code_and_tests_import_is_needed_and_other_dependencies_are_of_use() -> None:
    files = {
        "pyproject.toml": STANDARD,
        "shop/__init__.py": "import polars\ntry:\n    import rich\nexcept ImportError:\n    rich = None\n",
        "tests/test_shop.py": "import freezegun\nimport helper_names\nimport yaml\nimport shop\n",
        "tests/helper_names.py": "",
    }
    found = layout_of(files)
    assert found.needed == ("freezegun", "polars>=1", "pyyaml")
    assert found.useful == ("rich", "unused-thing")  # it may be loaded by its name, or by a dependency
    assert found.setup.metadata == {"web-shop": "2.1"}
    assert found.runtime == ">=3.9"


def test_guarded_and_skipped_imports_of_tests_ask_for_nothing() -> None:
    test = """
import pytest
numpy = pytest.importorskip("numpy")
import numpy.linalg
try:
    import lxml
except ImportError:
    lxml = None
if True:
    import bokeh
def test_it():
    import pandas
"""
    assert layout_of({"tests/test_a.py": test}).needed == ()


def test_a_package_below_a_shared_name_is_the_declared_one() -> None:
    project = '[project]\nname = "plural"\ndependencies = ["jaraco.functools", "jaraco.text>=3"]\n'
    code = "from jaraco.functools import pass_none\n"
    files = {"pyproject.toml": project, "plural/__init__.py": code, "tests/test_a.py": "import jaraco.text\n"}
    assert layout_of(files).needed == ("jaraco-functools", "jaraco-text>=3")


def test_files_beside_the_tests_may_be_data_that_imports_anything() -> None:
    files = {"tests/test_a.py": "", "tests/cases/broken.py": "import foo.bar\nfrom bdist_egg import x\n"}
    assert layout_of(files).needed == ()


def test_a_test_package_below_the_test_folder_is_local() -> None:
    files = {"tests/test_shop/__init__.py": "", "tests/test_shop/test_a.py": "from test_shop.test_b import X\n"}
    assert layout_of(files).needed == ()


def test_code_in_a_folder_that_pytest_reads_is_code_and_no_helper() -> None:
    project = """
[project]
name = "shop"
dependencies = ["simplejson"]
[tool.pytest.ini_options]
testpaths = ["src", "tests"]
"""
    code = {"pyproject.toml": project, "src/shop/__init__.py": "import simplejson\n"}
    found = layout_of({**code, "tests/makers.py": "", "tests/test_shop.py": "import makers, shop\n"})
    assert (found.helpers, found.needed) == (("tests/makers.py",), ("simplejson",))
    assert layout_of({"shop.py": "", "test_shop.py": ""}).helpers == ()


def test_a_plugin_is_of_use_when_a_test_takes_its_fixture_and_worth_no_question() -> None:
    project = '[dependency-groups]\ntest = ["pytest-mock", "pytest-benchmark", "pytest-xdist", "pytest-sugar"]\n'
    found = layout_of({"pyproject.toml": project, "tests/test_a.py": "def test_a(tmp_path, mocker): ...\n"})
    assert (found.needed, found.useful) == ((), ("pytest-mock",))  # those that are not listed are not loaded either


def test_the_runner_itself_asks_for_none_of_its_plugins() -> None:
    files = {"tox.ini": "[testenv]\ndeps = pytest-sugar\n", "test_a.py": "import pytest\n"}
    assert layout_of(files).needed == ()


def test_a_plugin_comes_in_the_version_that_fits_the_sandbox_s_runner() -> None:
    test = "import pytest, pytest_asyncio\n@pytest.mark.asyncio\nasync def test_a(mocker): ...\n"
    files = {"requirements/tests.txt": "pytest-asyncio==0.24.0\npytest-mock==3.1\npytest==8.3.3\n", "test_a.py": test}
    found = layout_of(files)
    assert (found.needed, found.useful) == (("pytest-asyncio",), ("pytest-mock",))


def test_a_module_takes_the_declared_name_that_holds_it() -> None:
    project = '[project]\nname = "draw"\n[project.optional-dependencies]\ndiagrams = ["railroad-diagrams"]\n'
    files = {"pyproject.toml": project, "tests/test_a.py": "import railroad\n"}
    assert layout_of(files).needed == ("railroad-diagrams",)


def test_setup_py_is_read_and_never_run() -> None:
    setup = """
from setuptools import setup, find_packages
raise SystemExit("it was run")
setup(name="old", version="1.0", packages=find_packages("lib"), package_dir={"": "lib"},
      install_requires=["toolz"], tests_require=["responses"], extras_require={"test": ["pyyaml"]},
      long_description=open("README").read())
"""
    files = {"setup.py": setup, "lib/old.py": "import toolz\n", "tests/test_old.py": "import responses, yaml\n"}
    found = layout_of(files)
    assert found.needed == ("pyyaml", "responses", "toolz")
    assert (found.setup.python_path, found.setup.metadata) == (("lib",), {"old": "1.0"})


def test_poetry_setup_cfg_and_requirement_files_are_understood() -> None:
    poetry = """
[tool.poetry]
name = "p"
version = "3"
packages = [{include = "p", from = "code"}]
[tool.poetry.dependencies]
python = "^3.9"
httpx = "*"
[tool.poetry.group.test.dependencies]
respx = "*"
"""
    files = {
        "pyproject.toml": poetry,
        "code/p/__init__.py": "import httpx\n",
        "tests/test_p.py": "import respx, rich, toml\n",
        "setup.cfg": "[options]\ninstall_requires =\n    rich>10\n",
        "requirements-dev.txt": "-r more.txt\n--hash=sha256:00\n# nothing\nhttps://example.org/x.whl\n",
        "more.txt": "toml==0.10.2  # pinned\n",
    }
    found = layout_of(files)
    assert found.setup.python_path == ("code",)
    assert set(found.needed) >= {"respx", "rich>10", "toml==0.10.2"}


def test_a_version_that_a_build_asks_git_for_comes_from_the_source_distribution() -> None:
    project = """
[build-system]
requires = ["setuptools", "setuptools_scm"]
[project]
name = "g"
dynamic = ["version"]
[tool.setuptools_scm]
write_to = "src/g/_version.py"
"""
    files = {
        "pyproject.toml": project,
        "PKG-INFO": "Metadata-Version: 2.1\nName: g\nVersion: 1.4.dev2\n",
        "src/g/__init__.py": "from g._version import version\n",
        "tests/test_g.py": "",
    }
    setup = layout_of(files).setup
    assert setup.metadata == {"g": "1.4.dev2"}
    assert setup.environment == {"SETUPTOOLS_SCM_PRETEND_VERSION": "1.4.dev2"}
    assert setup.modules["g._version"].startswith("__version__ = version = '1.4.dev2'\n")
    assert layout_of({**files, "src/g/_version.py": ""}).setup.modules == {}


def test_a_python_that_is_too_old_is_named() -> None:
    found = layout_of({"pyproject.toml": '[project]\nname = "n"\nrequires-python = ">=4"\n', "test_a.py": ""})
    assert found.problem.startswith("It needs Python >=4; the sandbox has 3.")


def test_a_single_file_called_tests_is_run() -> None:
    found = layout_of({"table.py": "", "tests.py": "import freezegun\nimport table\n"})
    assert (found.test_paths, found.needed, found.problem) == (("tests.py",), ("freezegun",), "")


def test_a_repository_without_tests_says_so() -> None:
    assert layout_of({"a.py": ""}).problem == "No test files were found (test_*.py or *_test.py)."


def test_broken_files_count_as_not_there() -> None:
    files = {"pyproject.toml": "[", "setup.cfg": "x", "tox.ini": "\0", "setup.py": "(", "tests/test_a.py": "def"}
    assert layout_of(files).test_paths == ("tests",)
