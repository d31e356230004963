"""Evidence is believed only where it was shown."""

from hypothesis import given
from hypothesis import strategies as st

from agents.repair.evidence import is_shown
from tests.tables import each_row

TRACE = """\
    def test_price():
>       assert price("tea") == 2

tests/test_cart.py:4:
_ _ _ _ _ _ _ _ _ _ _
    def price(name):
>       return PRICES[name]
E       KeyError: 'tea'

shop/cart.py:13: KeyError
"""


@each_row(
    "named",
    [
        "KeyError: 'tea'",
        "`E       KeyError: 'tea'`",
        "shop/cart.py:13: KeyError",
        'The line "return PRICES[name]" raises',
        "the trace says `KeyError: 'tea'` in price",
        'assert  price( "tea" )  == 2',
        "KeyError 'tea' at shop/cart.py:13",
    ],
)
def test_a_line_of_the_trace_is_found_however_it_is_quoted(named: str) -> None:
    assert is_shown(named, TRACE)


@each_row(
    "named",
    [
        "",
        "   ` ` ",
        "KeyError: 'coffee'",
        "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
        "shop/cart.py:31: KeyError",
        "assert price('milk') == 7",
        "the function is wrong because the dictionary has not been filled",
    ],
)
def test_a_line_that_nobody_showed_is_not_found(named: str) -> None:
    assert not is_shown(named, TRACE)


@given(st.lists(st.from_regex(r"[a-z][ -~]{0,60}", fullmatch=True), min_size=1, max_size=20), st.data())
def test_every_line_is_found_in_its_own_text(lines: list[str], data: st.DataObject) -> None:
    assert is_shown(data.draw(st.sampled_from(lines)), "\n".join(lines))


@given(st.text(max_size=200), st.text(max_size=400))
def test_no_text_breaks_it(named: str, shown: str) -> None:
    assert is_shown(named, shown) in (True, False)
