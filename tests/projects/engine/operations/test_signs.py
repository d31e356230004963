"""What output and traffic say went wrong."""

from hypothesis import given
from hypothesis import strategies as st

from projects.engine.operations import signs
from projects.models import BadRequest, Incident
from projects.services.operations.traffic import EDGES, Metrics, TrafficCount, quantile
from tests.tables import each_row

Kind = Incident.Kind
TRACE = """Traceback (most recent call last):
  File "/usr/lib/python3.11/socketserver.py", line 316, in _handle_request_noblock
    self.process_request(request, client_address)
  File "/workspace/app.py", line 20, in do_POST
    self.answer(200, {"total": total(order)})
  File "/workspace/prices.py", line 2, in total
    return order['price'] * 2
           ~~~~~^^^^^^^^^
KeyError: 'price'
"""


def request(**fields: object) -> BadRequest:
    return BadRequest(**{"method": "POST", "path": "/orders?a=1", "status": None, "milliseconds": 5} | fields)


def test_an_exception_is_grouped_by_its_kind_and_its_function_whatever_its_message() -> None:
    (one,) = signs.problems_in("INFO: started\n" + TRACE)
    (two,) = signs.problems_in(TRACE.replace("'price'\n", "'cost'\n").replace("line 2", "line 9"))
    first, second = (signs.of_problem(each, crash=True, request=request()) for each in (one, two))
    assert first.signature == second.signature
    assert (first.kind, first.title) == (Kind.CRASH, "KeyError in prices.py at POST /orders")
    assert first.files == ("prices.py", "app.py")
    assert "socketserver" not in first.evidence
    (other,) = signs.problems_in(TRACE.replace("in total", "in tax"))
    assert signs.of_problem(other, crash=True, request=None).signature != first.signature


def test_a_traceback_that_comes_in_two_pieces_is_read_whole_and_only_once() -> None:
    middle = TRACE.index('  File "/workspace/prices.py"')
    begun, rest = TRACE[:middle], TRACE[middle:]
    assert [one.kind for one in signs.problems_in(signs.with_begun("up\n" + begun + rest, rest))] == ["KeyError"]
    later = "GET / 200\n"
    assert signs.with_begun("up\n" + TRACE + later, later) == later


@each_row(
    ("text", "cause"),
    [
        ("OSError: [Errno 28] No space left on device: 'a'", "its disk is full"),
        ("sqlite3.OperationalError: database or disk is full", "its disk is full"),
        ("MemoryError", "its memory is used up"),
        ("socket.gaierror: [Errno -2] Name or service not known", "what it calls cannot be reached from where it runs"),
        ("ConnectionRefusedError: [Errno 111] Connection refused", "a server that it needs does not answer"),
        ("KeyError: 'price'", ""),
    ],
)
def test_causes_outside_of_the_code_are_told_apart(text: str, cause: str) -> None:
    assert signs.outside_cause(text) == cause


def test_a_process_that_ends_without_a_word_has_a_sign_of_its_own() -> None:
    found = signs.of_exit(137, "up\n", None)
    assert (found.kind, found.title) == (Kind.CRASH, "It ended with exit code 137")
    assert signs.of_exit(1, "OSError: [Errno 28] No space left on device", None).kind == Kind.ENVIRONMENT


def test_an_answer_with_an_error_counts_by_its_path() -> None:
    one, two = signs.of_answer(request(status=500)), signs.of_answer(request(status=500, path="/orders?b=2"))
    assert one.signature == two.signature
    assert one.title == "POST /orders: answered 500"
    assert signs.of_answer(request()).title == "POST /orders: no answer"


def metrics(requests: int, p95: int | None) -> Metrics:
    return Metrics(3, requests, 0, p95)


def test_a_spike_is_long_and_longer_than_usual_and_seen_often_enough() -> None:
    slow = [request(milliseconds=2000, status=200)]
    found = signs.of_latency(metrics(20, 2500), metrics(50, 50), slow)
    assert found is not None
    assert found.title == "Slow answers: 95 % within 2500 ms, usually 50 ms; mostly POST /orders"
    assert signs.of_latency(metrics(9, 2500), metrics(50, 50), slow) is None
    assert signs.of_latency(metrics(20, 500), metrics(50, 50), slow) is None
    assert signs.of_latency(metrics(20, 2500), metrics(50, 1000), slow) is None
    assert signs.of_latency(metrics(20, 2500), metrics(5, 1000), slow) is not None
    assert signs.of_latency(metrics(20, 2500), None, slow) is not None


@given(st.lists(st.integers(0, 70_000), min_size=1, max_size=50), st.sampled_from([0.5, 0.95, 1.0]))
def test_a_quantile_is_the_edge_that_so_many_lie_below(times: list[int], share: float) -> None:
    counted = TrafficCount()
    for each in times:
        counted.add(each, failed=False)
    edge = quantile(counted.buckets, share)
    assert edge is not None
    if edge in EDGES:
        assert sum(each <= edge for each in times) >= share * len(times)
    assert quantile([0] * len(counted.buckets), share) is None


@given(st.text(max_size=400), st.text(max_size=400))
def test_no_output_breaks_the_reading(before: str, fresh: str) -> None:
    signs.problems_in(signs.with_begun(before + fresh, fresh))
