"""What an expression may be, told without running it."""

import time

from agents.languages.python import syntax
from agents.languages.python.flow.calls import NameFlow
from agents.languages.python.flow.values import Ref
from tests.tables import each_row


def called(text: str, **others: str) -> set[str]:
    """The dotted names that the last line of `main` may call."""
    modules = {"main": text, **others}
    flow = NameFlow({name.replace("__", "."): syntax.parse(source) for name, source in modules.items()}, ["pkg"])
    last = max(site.node.lineno for site in flow.sites(flow.modules["main"]))
    sites = [site for site in flow.sites(flow.modules["main"]) if site.node.lineno == last]
    return {site.callee.name for site in sites if isinstance(site.callee, Ref)} - {""}


REACHED = {
    "a chain of names": "import os\na = os\nb = a\nc = b.system\nc(x)",
    "a nested container": "import os\nt = {'a': [None, {'b': os.system}]}\nt['a'][1]['b'](x)",
    "a list that grew": "import os\nt = []\nt.append(os.system)\nt[-1](x)",
    "a table that is updated": "import os\nt = {}\nt.update({'a': os.system})\nt['a'](x)",
    "a table put together": "import os\nt = {**{'a': 1}, **{'a': os.system}}\nt['a'](x)",
    "a comprehension": "import os\nt = [f for f in [os.system]]\nt[0](x)",
    "pairs of a table": "import os\nfor k, f in {'a': os.system}.items():\n    f(x)",
    "an attribute set from outside": "import os\nclass A: pass\na = A()\na.f = os.system\na.f(x)",
    "setattr": "import os\nclass A: pass\nsetattr(A, 'f', os.system)\nA().f(x)",
    "an inherited attribute": "import os\nclass A:\n    f = os.system\nclass B(A): pass\nB.f(x)",
    "a property": "import os\nclass A:\n    @property\n    def f(self):\n        return os.system\nA().f(x)",
    "a module patched": "import os, json\njson.loads = os.system\njson.loads(x)",
    "the names of the module": "import os\nglobals()['f'] = os.system\nf(x)",
    "a name of the module that is put together": "import os\nglobals()['a' + 'b'] = os.system\nab(x)",
    "keywords collected": "import os\ndef go(**kw):\n    kw['f'](x)\ngo(f=os.system)\n\nos.system(x)",
    "rest arguments": "import os\ndef pick(*fs):\n    return fs[0]\npick(os.system)(x)",
    "a callable object": "import os\nclass A:\n    def __call__(self):\n        return os.system\nA()()(x)",
    "either of two": "import os\ngo = os.system if x else os.system\ngo(x)",
    "a star import": "from os import *\nsystem(x)",
    "a namespace": "import os, types\nn = types.SimpleNamespace(f=os.system)\nn.f(x)",
    "a text that grows": "import os\nn = 'sys'\nn += 'tem'\ngetattr(os, n)(x)",
    "a text of a default": "import os\ndef go(n='system'):\n    return getattr(os, n)\ngo()(x)",
    "a recursive function": "import os\ndef f(n):\n    return f(n - 1) if n else os.system\nf(3)(x)",
    "match": "import os\nmatch {'f': os.system}:\n    case {'f': f}:\n        f(x)",
}


@each_row("why", REACHED)
def test_a_callable_is_followed_through(why: str) -> None:
    assert "os.system" in called(REACHED[why])


def test_names_are_followed_from_module_to_module() -> None:
    others = {"pkg": "from .low import go as again", "pkg__low": "from os import system as go"}
    assert called("from pkg import again\nagain(x)", **others) == {"os.system"}
    assert called("import pkg.low as low\nlow.go(x)", **others) == {"os.system"}
    assert called("from pkg import *\nagain(x)", **others) >= {"os.system"}


def test_a_file_beside_does_not_hide_a_standard_module() -> None:
    assert called("import os\ngo = os.system\ngo(x)", os="def system(x):\n    pass") == {"os.system"}


def test_another_member_is_not_taken_for_it() -> None:
    assert called("import os\nt = {'a': os.system, 'b': len}\nt['b'](x)") == {"len"}
    assert called("import os\nt = (os.system, len)\nt[1](x)") == {"len"}


def test_a_hundred_harmless_functions_hide_none() -> None:
    members = ", ".join(f"'{n}': lib.a{n}" for n in range(200))
    assert "os.system" in called(f"import lib, os\nt = {{{members}, 'x': os.system}}\nt[x](x)")


@each_row(
    "text",
    [
        "x = " + "+".join(["'a'"] * 900) + "\nf(x)",
        "a0 = f\n" + "".join(f"a{n} = a{n - 1} or a{n - 2 if n > 1 else 0}\n" for n in range(1, 400)) + "a399(x)",
        "a = b\nb = c\nc = a\na(x)",
        "def f(g): return g(f)\nf(f)(f)",
        "x = []\nx.append(x)\nx[0][0][0](x)",
        "class A(A): pass\nA.f(x)",
        "".join(f"t{n} = [{', '.join(f't{k}' for k in range(n))}]\n" for n in range(60)) + "t59[0](x)",
        "f = " + "lambda: " * 80 + "0\nf(x)",
        "x = a" + ".b" * 900 + "\nx()",
        f"t = {{{', '.join(f'{n}: f{n}' for n in range(2000))}}}\n" + "".join(f"t[{n}](x)\n" for n in range(2000)),
        "x = 'a'\n" + "x += 'a'\n" * 3000 + "x(x)",
        "t = []\n" + "".join(f"t.append(f{n})\nt[{n}](x)\n" for n in range(800)),
    ],
    ids=[
        "sum",
        "chain",
        "circle",
        "self call",
        "own member",
        "own base",
        "web",
        "lambdas",
        "attributes",
        "table",
        "growth",
        "list",
    ],
)
def test_tangled_code_ends_soon_and_never_crashes(text: str) -> None:
    began = time.process_time()
    flow = NameFlow({"main": syntax.parse(text)})
    list(flow.sites(flow.modules["main"]))
    assert time.process_time() - began < 20


def test_steps_are_bounded_and_running_out_is_said() -> None:
    flow = NameFlow({"main": syntax.parse("f(x)")})
    assert not flow.exhausted
    flow.left = 0
    assert flow.exhausted
