"""What code takes from libraries."""

from hypothesis import given
from hypothesis import strategies as st

from agents.languages.python.uses import uses_of
from tests.tables import each_row


def names(text, local=()):
    return [(use.name, use.keywords) for use in uses_of(text, local)]


def test_imports_attributes_and_calls_are_found():
    text = "import json\nfrom os import path as p\n\njson.dumps(1, indent=2)\np.join('a')\nx = json.JSONDecodeError\n"
    assert names(text) == [
        ("json", None),
        ("os.path", None),
        ("json.dumps", ("indent",)),
        ("os.path.join", ()),
        ("json.JSONDecodeError", None),
    ]


def test_an_alias_stands_for_its_module():
    assert ("datetime.datetime.now", ("tz",)) in names("import datetime as d\nd.datetime.now(tz=None)\n")
    assert ("xml.dom.minidom.parse", ()) in names("import xml.dom.minidom as m\nm.parse('x')\n")


def test_modules_of_the_repository_are_no_libraries():
    assert names("import shop.cart\nfrom shop import money\nshop.cart.add()\n", {"shop"}) == []
    assert names("from . import cart\ncart.add()\n") == []


@each_row(
    "text",
    [
        "import json\njson = object()\njson.nothing()\n",
        "import json\ndef f(json):\n    return json.nothing()\n",
        "import json\nfor json in []:\n    json.nothing()\n",
        "import json\nif hasattr(json, 'nothing'):\n    json.nothing()\n",
        "import json\ntry:\n    json.nothing()\nexcept AttributeError:\n    pass\n",
        "import json, sys\nif sys.version_info > (3, 99):\n    json.nothing()\n",
        "import json\njson.nothing = 1\njson.nothing\n",
        "import json\nimport simplejson as json\njson.nothing()\n",
        "import json\nimport pytest\nwith pytest.raises(AttributeError):\n    json.nothing()\n",
    ],
)
def test_what_could_be_something_else_is_left_out(text):
    assert "json.nothing" not in [name for name, _ in names(text)]


def test_an_import_that_may_fail_is_left_out():
    assert (
        names("try:\n    import tomllib\nexcept ImportError:\n    import tomli as tomllib\ntomllib.nothing()\n") == []
    )


def test_what_only_some_systems_have_is_left_out():
    assert names("import os, sys\nos.O_BINARY\nsys.getwindowsversion()\nos.getcwd()\n") == [
        ("os", None),
        ("sys", None),
        ("os.getcwd", ()),
    ]


def test_code_that_does_not_parse_uses_nothing():
    assert uses_of("def f(:\n") == []


@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    assert isinstance(uses_of(text), list)
