"""The repositories: each holds one fault, and names the command that fails and what a reader of the log must find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PACKAGE = "shop/__init__.py"
CART = """\"\"\"A shopping cart.\"\"\"

from __future__ import annotations


def total(prices: list[float], discount: float = 0.0) -> float:
    \"\"\"The sum of the prices, less a discount in percent.\"\"\"
    return round(sum(prices) * (1 - discount / 100), 2)


def label(name: str, price: float) -> str:
    \"\"\"A line of the receipt.\"\"\"
    return f"{name}: {price:.2f}"
"""
TEST_CART = """from shop.cart import label, total


def test_total() -> None:
    assert total([1.5, 2.5]) == 4.0


def test_discount() -> None:
    assert total([100.0], 20) == 80.0


def test_label() -> None:
    assert label("Tea", 3) == "Tea: 3.00"
"""
SHOP = {PACKAGE: "", "shop/cart.py": CART, "tests/test_cart.py": TEST_CART}
PAGE = """from flask import Flask

app = Flask(__name__)


@app.get("/")
def index() -> str:
    return "open"
"""
TEST_PAGE = """from shop.page import app


def test_index() -> None:
    assert app.test_client().get("/").text == "open"
"""
MONEY = """/** Cents as text: 1250 becomes "12.50". */
export function money(cents: number): string {
  return (cents / 100).toFixed(2);
}
"""
TYPED = {
    "tsconfig.json": '{"compilerOptions": {"strict": true, "noEmit": true, "module": "nodenext", "target": "es2022", '
    '"skipLibCheck": true, "types": []}, "include": ["src"]}\n',
    "src/money.ts": MONEY,
}
SLUG = """export function slug(title) {
  return title.trim().toLowerCase().replace(/\\s+/g, "-");
}
"""
TEST_SLUG = """import assert from "node:assert/strict";
import { test } from "node:test";
import { slug } from "../src/slug.js";

test("spaces become one dash", () => {
  assert.equal(slug("Hello  World"), "hello-world");
});

test("marks at the end are left out", () => {
  assert.equal(slug("Hello World!"), "hello-world");
});
"""


@dataclass(frozen=True)
class Case:
    """A repository with one fault.

    `wrapped` is the CI system in whose form the log is kept; `place` is `file:line`, or what of it the log names;
    `words` must be in the excerpt.
    """

    kind: str
    tool: str
    command: str
    files: Mapping[str, str]
    place: str = ""
    words: tuple[str, ...] = ()
    wrapped: str = ""  # github, gitlab
    before: tuple[str, ...] = ()  # commands that have to work first
    environment: Mapping[str, str] = field(default_factory=dict)


def package(name: str, **more: str) -> str:
    """A package.json: `dependencies`, `dev` and `scripts` are JSON objects as text."""
    rows = ['"name": "%s"' % name, '"version": "1.0.0"', '"type": "module"']  # noqa: UP031
    names = {"dev": "devDependencies"}
    rows += [f'"{names.get(key, key)}": {value}' for key, value in more.items()]
    return "{\n  " + ",\n  ".join(rows) + "\n}\n"


CASES = {
    # Dependency conflicts
    "pip-conflict": Case(
        "dependency conflict",
        "pip",
        "pip install -r requirements.txt",
        {
            "requirements.txt": "flask==2.3.3\nwerkzeug==2.0.3\n",
            PACKAGE: "",
            "shop/page.py": PAGE,
            "tests/test_page.py": TEST_PAGE,
        },
        "requirements.txt",
        ("flask", "werkzeug"),
        "github",
    ),
    "pip-no-version": Case(
        "dependency conflict",
        "pip",
        "pip install -r requirements.txt",
        {"requirements.txt": "jinja2==3.9.9\n", **SHOP},
        "requirements.txt",
        ("jinja2==3.9.9",),
    ),
    "uv-conflict": Case(
        "dependency conflict",
        "uv",
        "uv lock",
        {
            "pyproject.toml": '[project]\nname = "shop"\nversion = "1.0"\nrequires-python = ">=3.11"\n'
            'dependencies = ["fastapi==0.100.0", "starlette>=0.30"]\n',
            **SHOP,
        },
        "pyproject.toml",
        ("fastapi", "starlette"),
        "gitlab",
    ),
    "uv-python": Case(
        "dependency conflict",
        "uv",
        "uv lock",
        {
            "pyproject.toml": '[project]\nname = "shop"\nversion = "1.0"\nrequires-python = ">=3.8"\n'
            'dependencies = ["anyio>=4.10"]\n',
            **SHOP,
        },
        "pyproject.toml",
        ("anyio", "Python"),
    ),
    "npm-peer": Case(
        "dependency conflict",
        "npm",
        "npm install",
        {
            "package.json": package("shop", dependencies='{"react": "18.3.1", "react-dom": "17.0.2"}'),
            "src/slug.js": SLUG,
        },
        "package.json",
        ("react-dom", "react"),
        "github",
    ),
    "npm-no-version": Case(
        "dependency conflict",
        "npm",
        "npm install",
        {"package.json": package("shop", dependencies='{"nanoid": "^99.0.0"}'), "src/slug.js": SLUG},
        "package.json",
        ("nanoid@^99.0.0",),
        "gitlab",
    ),
    "npm-ci-lock": Case(
        "dependency conflict",
        "npm",
        "npm ci",
        {"package.json": package("shop", dependencies='{"nanoid": "^5.0.0"}'), "src/slug.js": SLUG},
        "package.json",
        ("nanoid",),
        "github",
        before=(
            "npm install --package-lock-only",
            "sed -i 's/5.0.0/4.0.0/' package.json",
        ),
    ),
    # Compile errors
    "tsc-types": Case(
        "compile error",
        "tsc",
        "npm run build",
        {
            **TYPED,
            "package.json": package("shop", scripts='{"build": "tsc"}', dev='{"typescript": "5.9.3"}'),
            "src/receipt.ts": 'import { money } from "./money.js";\n\n'
            "export function line(name: string, cents: string): string {\n"
            "  return `${name}: ${money(cents)}`;\n}\n",
        },
        "src/receipt.ts:4",
        ("TS2345", "'string'"),
        before=("npm install",),
    ),
    "tsc-missing": Case(
        "missing module",
        "tsc",
        "npx tsc --noEmit",
        {
            **TYPED,
            "package.json": package("shop", dev='{"typescript": "5.9.3"}'),
            "src/receipt.ts": 'import { money } from "./currency.js";\n\nexport const free = money(0);\n',
        },
        "src/receipt.ts:1",
        ("TS2307", "./currency.js"),
        "github",
        before=("npm install",),
    ),
    "python-syntax": Case(
        "compile error",
        "python",
        "python -m compileall -q shop",
        {**SHOP, "shop/cart.py": CART.replace("def label(name: str, price: float) -> str:", "def label(name, price)")},
        "shop/cart.py:11",
        ("SyntaxError", "def label"),
        "gitlab",
    ),
    "docker-syntax": Case(
        "docker build",
        "docker",
        "docker build -t shop .",
        {"Dockerfile": "FROM scratch\nCOPPY app /app\n", "app": "", **SHOP},
        "Dockerfile:2",
        ("COPPY",),
        "github",
    ),
    "docker-copy": Case(
        "docker build",
        "docker",
        "docker build -t shop .",
        {"Dockerfile": 'FROM scratch\nCOPY requirements.txt /app/\nCOPY shop /app/shop\nCMD ["/app/run"]\n', **SHOP},
        "Dockerfile",
        ("requirements.txt",),
    ),
    "docker-run": Case(
        "docker build",
        "docker",
        "docker build -t shop .",
        {
            "Dockerfile": "FROM shell:test\nCOPY . /app\nWORKDIR /app\nRUN sh scripts/build.sh\n",
            "scripts/build.sh": 'set -e\nversion=$(cat VERSION)\necho "version $version"\n',
            **SHOP,
        },
        "Dockerfile",
        ("VERSION",),
        "gitlab",
    ),
    # Failing tests
    "pytest-assert": Case(
        "failing test",
        "pytest",
        "python -m pytest",
        {**SHOP, "shop/cart.py": CART.replace("discount / 100", "discount / 10")},
        "tests/test_cart.py:9",
        ("test_discount", "assert -100.0 == 80.0"),
        "github",
        environment={"PY_COLORS": "1"},
    ),
    "pytest-error": Case(
        "failing test",
        "pytest",
        "python -m pytest -q",
        {**SHOP, "shop/cart.py": CART.replace("{price:.2f}", "{price.amount:.2f}")},
        "shop/cart.py:13",
        ("AttributeError", "amount"),
    ),
    "node-test": Case(
        "failing test",
        "node-test",
        "node --test",
        {"package.json": package("shop"), "src/slug.js": SLUG, "test/slug.test.js": TEST_SLUG},
        "test/slug.test.js:10",
        ("hello-world!",),
    ),
    "vitest": Case(
        "failing test",
        "vitest",
        "npx vitest run",
        {
            "package.json": package("shop", scripts='{"test": "vitest run"}', dev='{"vitest": "3.2.4"}'),
            "src/slug.js": SLUG,
            "test/slug.test.js": 'import { expect, test } from "vitest";\nimport { slug } from "../src/slug.js";\n\n'
            'test("marks at the end are left out", () => {\n  expect(slug("Hello World!")).toBe("hello-world");\n});\n',
        },
        "test/slug.test.js:5",
        ("hello-world!",),
        "github",
        before=("npm install",),
        environment={"FORCE_COLOR": "1"},
    ),
    # Missing modules
    "pytest-module": Case(
        "missing module",
        "pytest",
        "python -m pytest",
        {
            "requirements.txt": "",
            **SHOP,
            "shop/settings.py": "import tomli_w\n\n\ndef text(values: dict[str, int]) -> str:\n"
            "    return tomli_w.dumps(values)\n",
            "tests/test_settings.py": "from shop.settings import text\n\n\ndef test_text() -> None:\n"
            '    assert text({"a": 1}) == "a = 1\\n"\n',
        },
        "shop/settings.py:1",
        ("tomli_w",),
        "gitlab",
    ),
    "node-module": Case(
        "missing module",
        "node",
        "node src/server.js",
        {
            "package.json": package("shop"),
            "src/slug.js": SLUG,
            "src/server.js": 'import { slug } from "./slugs.js";\n\nconsole.log(slug("Hello World"));\n',
        },
        "src/server.js",
        ("slugs.js",),
        "github",
    ),
    # Lint and types
    "ruff-check": Case(
        "lint",
        "ruff",
        "ruff check .",
        {**SHOP, "shop/cart.py": CART.replace("\n\ndef total", "\nimport os\n\n\ndef total", 1)},
        "shop/cart.py:5",
        ("F401", "os"),
        "github",
    ),
    "ruff-format": Case(
        "lint",
        "ruff",
        "ruff format --check .",
        {**SHOP, "shop/cart.py": CART.replace("discount: float = 0.0", "discount: float=0.0")},
        "shop/cart.py:6",
        ("reformatted",),
    ),
    "mypy": Case(
        "compile error",
        "mypy",
        "mypy shop",
        {**SHOP, "shop/cart.py": CART.replace("-> str:", "-> int:")},
        "shop/cart.py:13",
        ("return-value",),
        "gitlab",
    ),
    "eslint": Case(
        "lint",
        "eslint",
        "npx eslint src",
        {
            "package.json": package("shop", dev='{"eslint": "9.39.1"}'),
            "eslint.config.js": 'export default [{ rules: { "no-unused-vars": "error", "no-undef": "error" } }];\n',
            "src/slug.js": SLUG.replace("  return", "  const words = title.split(' ');\n  return"),
        },
        "src/slug.js:2",
        ("no-unused-vars", "words"),
        before=("npm install",),
    ),
}
