"""Text built in a roundabout way is worked out, and nothing is run."""

import ast

from agents.languages.python import syntax
from agents.languages.python.flow.constants import Folder, number_of, text_of
from tests.tables import each_row

SAME = {
    "a sum": "'sys' + 'tem'",
    "a format": "'{}{}'.format('sys', 'tem')",
    "a named format": "'{a}tem'.format(a='sys')",
    "a percent format": "'%s%s' % ('sys', 'tem')",
    "an f-string": "f'{\"sys\"}tem'",
    "a slice": "'xsystemx'[1:-1]",
    "a reversal": "'metsys'[::-1]",
    "a join": "''.join(['s', 'ys', 'tem'])",
    "a join of characters": "''.join(chr(c) for c in [115, 121, 115, 116, 101, 109])",
    "a join of shifted characters": "''.join(chr(c - 1) for c in [116, 122, 116, 117, 102, 110])",
    "a join of a reversed list": "''.join(reversed('metsys'))",
    "a list turned round": "''.join(['tem', 'sys'][::-1])",
    "a replacement": "'syXstem'.replace('X', '')",
    "hexadecimal": "bytes.fromhex('73797374656d').decode()",
    "Base64": "base64.b64decode('c3lzdGVt').decode()",
    "a rotation": "codecs.decode('flfgrz', 'rot13')",
    "octets": "bytes([115, 121, 115, 116, 101, 109]).decode()",
    "lower case": "'SYSTEM'.lower()",
}


def expression(text: str) -> ast.expr:
    statement = syntax.parse(text).body[0]
    assert isinstance(statement, ast.Expr)
    return statement.value


@each_row("how", SAME)
def test_a_text_is_worked_out_from(how: str) -> None:
    assert text_of(expression(SAME[how])) == "system"


@each_row("text", ["name", "'a' + name", "f'{x}'", "f'{1.5:>10}'", "'a'[9]", "''[::0]", "chr(-1)", "-'a'"])
def test_what_needs_running_is_not_told(text: str) -> None:
    assert text_of(expression(text)) is None


def test_how_a_text_begins_is_told_where_the_rest_is_not() -> None:
    for text in ("'http://a/' + x", "f'http://a/{x}'", "'http://a/%s' % x", "'http://a/{}'.format(x)"):
        assert (Folder().beginning(expression(text)) or "").startswith("http://a/")


def test_large_numbers_come_back_as_a_bound() -> None:
    assert number_of(expression("10 ** 10 ** 10")) == 10**18
    assert number_of(expression("1 << 900")) == 10**18
    assert number_of(expression("-(2 + 3) * 4")) == -20
