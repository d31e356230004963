"""The tests that import what changed."""

from agents.languages.python.related import related_tests
from tests.tables import each_row

FILES = {
    "src/shop/__init__.py": "from shop.cart import Cart\n",
    "src/shop/cart.py": "from .price import total\nclass Cart: ...\n",
    "src/shop/price.py": "def total(): ...\n",
    "src/shop/mail.py": "import json\n",
    "src/other/tax.py": "RATE = 1\n",
    "tests/conftest.py": "import pytest\n",
    "tests/helpers.py": "from other.tax import RATE\n",
    "tests/test_cart.py": "from shop.cart import Cart\n",
    "tests/test_mail.py": "import shop.mail\n",
    "tests/test_tax.py": "import helpers\n",
    "tests/unit/test_alone.py": "def test_it(): ...\n",
}


@each_row(
    ("changed", "tests"),
    [
        (["src/shop/price.py"], ["tests/test_cart.py", "tests/test_mail.py"]),  # by way of the package's __init__
        (["src/shop/mail.py"], ["tests/test_mail.py"]),
        (["src/other/tax.py"], ["tests/test_tax.py"]),
        (["tests/unit/test_alone.py"], ["tests/unit/test_alone.py"]),
        (
            ["tests/conftest.py"],
            [f"tests/{name}.py" for name in ("test_cart", "test_mail", "test_tax", "unit/test_alone")],
        ),
        (["data.json"], []),
        ([], []),
    ],
)
def test_tests_are_found_through_imports(changed, tests):
    assert related_tests(FILES, changed, ["src"]) == tests


def test_a_file_that_does_not_compile_imports_nothing():
    assert related_tests(FILES | {"tests/test_cart.py": "def (:"}, ["src/shop/cart.py"], ["src"]) == [
        "tests/test_mail.py"
    ]
