"""Which texts of a call are the program's own, as the gate tells them apart."""

from agents.gates.taint import address_is_checked, first_argument_is_constant, reads_own_pickle, sql_is_settled
from tests.tables import each_row

SETTLED = {
    "a constant of the module": "TABLE = 'a'\ndef f(db):\n    db.execute(f'SELECT 1 FROM {TABLE}')\n",
    "as many marks as values": "def f(db, ids):\n    marks = ','.join('?' for _ in ids)\n    db.execute(f'SELECT "
    "{marks}')\n",
    "a name that was looked up": "def f(db, x):\n    c = COLUMNS[x]\n    db.execute('SELECT 1 ORDER BY ' + c)\n",
    "a name that is in a fixed list": "def f(db, x):\n    if x not in ('a', 'b'):\n        raise ValueError\n    "
    "db.execute(f'SELECT {x}')\n",
    "members of a fixed list": "def f(db, c):\n    n = [x for x in FIELDS if x in c]\n    t = ', '.join(f'{y}=?' "
    "for y in n)\n    db.execute(f'U {t}')\n",
}
OPEN = {
    "a parameter": "def f(db, x):\n    db.execute(f'SELECT {x}')\n",
    "a parameter with a fallback": "def f(db, x):\n    if not x:\n        x = 'a'\n    db.execute(f'SELECT {x}')\n",
    "a constant of another function": "def g():\n    x = 'a'\ndef f(db, x):\n    db.execute(f'SELECT {x}')\n",
    "a loop over anything": "def f(db, xs):\n    for x in xs:\n        db.execute(f'SELECT {x}')\n",
    "members of anything": "def f(db, c):\n    t = ', '.join(f'{y}=?' for y in c)\n    db.execute(f'UPDATE {t}')\n",
    "what does not parse": "def f(:\n",
}


def _line(source: str) -> int:
    return next((n for n, line in enumerate(source.split("\n"), 1) if "execute" in line), 1)


@each_row("why", SETTLED)
def test_a_statement_of_settled_parts_is_known(why: str) -> None:
    assert sql_is_settled(SETTLED[why].encode(), _line(SETTLED[why]))


@each_row("why", OPEN)
def test_a_statement_with_an_open_part_is_not_settled(why: str) -> None:
    assert not sql_is_settled(OPEN[why].encode(), _line(OPEN[why]))


def test_an_address_is_checked_by_its_start_or_its_scheme() -> None:
    assert address_is_checked(b"A = 'https://a.example/'\ndef f():\n    urlopen(A)\n", 3)
    assert address_is_checked(b"def f(u):\n    if urlparse(u).scheme != 'https':\n        raise E\n    urlopen(u)\n", 4)
    assert not address_is_checked(b"def f(u):\n    urlopen(u)\n", 2)
    assert not address_is_checked(b"def f(h):\n    urlopen('http://' + h)\n", 2)


def test_a_command_is_constant_only_when_written_out() -> None:
    assert first_argument_is_constant(b"c.exec_command('uptime')\n", 1, "exec_command")
    assert not first_argument_is_constant(b"c.exec_command(x)\n", 1, "exec_command")


def test_a_pickle_that_the_same_function_made_is_no_strangers():
    own = b"def test(a):\n    made = pickle.dumps(a)\n    assert pickle.loads(made) == pickle.loads(pickle.dumps(a))\n"
    assert reads_own_pickle(own, 3)
    for text in (
        b"def read(made):\n    return pickle.loads(made)\n",
        b"def read(a, made):\n    made = pickle.dumps(a)\n    return pickle.loads(made)\n",
        b"def read(a):\n    made = pickle.dumps(a)\n    for made in a: pickle.loads(made)\n",
        b"def read(a):\n    made = pickle.dumps(a)\n    return pickle.loads(made), pickle.loads(a)\n",
        b"made = pickle.dumps(1)\ndef read():\n    return pickle.loads(made)\n",
        b"def read():\n    return pickle.loads()\n",
    ):
        last = text.count(b"\n")
        assert not reads_own_pickle(text, last), text
