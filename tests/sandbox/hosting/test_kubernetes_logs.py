"""Output of releases in a cluster: in pages, without gaps that nobody is told of."""

from __future__ import annotations

from dataclasses import replace

from sandbox.hosting.kubernetes import KubernetesHost
from tests.sandbox.hosting.kubernetes_api import KubernetesApi
from tests.sandbox.hosting.kubernetes_cluster import FIRST, log_of, up

SECOND_0 = 1_750_000_000 * 10**9


def test_output_is_neither_repeated_nor_lost(host: KubernetesHost, api: KubernetesApi) -> None:
    up(host, FIRST)
    log = log_of(api)
    log += [(SECOND_0 + 5, b"one\n"), (SECOND_0 + 7, b"two\n"), (SECOND_0 + 7, b"of the same moment\n")]
    first = host.logs(FIRST.name)
    assert (first.text, first.lost) == ("one\ntwo\nof the same moment\n", False)
    assert host.logs(FIRST.name, first.position) == replace(first, text="")
    # Standard error got there later with an earlier time; then a line that is still being written.
    log += [(SECOND_0 + 6, b"late\n"), (SECOND_0 + 2 * 10**9, "ünd\0\n".encode()), (SECOND_0 + 3 * 10**9, b"half")]
    second = host.logs(FIRST.name, first.position)
    assert (second.text, second.lost) == ("late\nünd\u2400\n", False)
    assert host.logs(FIRST.name, SECOND_0 + 6).text == "ünd\u2400\n", "a line before it may have a later time"
    log[-1] = (log[-1][0], b"half a line\n")
    assert host.logs(FIRST.name, second.position).text == "half a line\n"


def test_much_output_comes_in_pages(host: KubernetesHost, api: KubernetesApi) -> None:
    up(host, FIRST)
    # A runtime may give all lines of one buffer the same time.
    lines = [b"%05d %s\n" % (n, b"x" * 90) for n in range(3000)]
    log_of(api).extend((SECOND_0 + n // 7, line) for n, line in enumerate(lines))
    position, text, pages = 0, "", 0
    while page := host.logs(FIRST.name, position):
        assert len(page.text.encode()) <= 64 * 1024
        assert not page.lost
        if not page.text:
            break
        position, text, pages = page.position, text + page.text, pages + 1
    assert text.encode() == b"".join(lines)
    assert pages == 5


def test_a_second_full_of_output_is_read_on_from_where_the_last_page_ended(
    host: KubernetesHost, api: KubernetesApi
) -> None:
    """The API gives lines from a second on: a page late in that second has all before it in front."""
    up(host, FIRST)
    log_of(api).extend((SECOND_0 + n, b"z" * 12_000 + b"\n") for n in range(1000))  # more than an answer may have
    page = host.logs(FIRST.name, SECOND_0 + 997)
    assert (page.position, len(page.text), page.lost) == (SECOND_0 + 999, 2 * 12_001, False)


def test_a_line_that_is_too_long_is_cut_and_said_to_be(host: KubernetesHost, api: KubernetesApi) -> None:
    up(host, FIRST)
    log_of(api).extend([(SECOND_0, b"y" * 300_000 + b"\n"), (SECOND_0 + 1, b"next\n")])
    page = host.logs(FIRST.name)
    assert page.text == "y" * 16_000 + "\nnext\n"
    assert page.lost


def test_output_of_the_container_before_is_read_to_its_end(host: KubernetesHost, api: KubernetesApi) -> None:
    up(host, FIRST)
    log_of(api).append((SECOND_0, b"first\n"))
    page = host.logs(FIRST.name)
    log_of(api).append((SECOND_0 + 1, b"last words"))
    api.start_again(api.pods_of(FIRST.name)[0])
    log_of(api).append((SECOND_0 + 2, b"again\n"))
    page = host.logs(FIRST.name, page.position)
    assert (page.text, page.lost) == ("last words\nagain\n", False)
    for n in (3, 4):  # the container in between is forgotten with what it printed
        api.start_again(api.pods_of(FIRST.name)[0])
        log_of(api).append((SECOND_0 + n, b"%d\n" % n))
    page = host.logs(FIRST.name, page.position)
    assert (page.text, page.lost) == ("3\n4\n", True)
    assert host.logs(FIRST.name, page.position).lost is False
    assert host.logs(FIRST.name).lost is True


def test_output_that_was_rotated_away_is_said_to_be_lost(host: KubernetesHost, api: KubernetesApi) -> None:
    up(host, FIRST)
    log = log_of(api)
    log.append((SECOND_0, b"one\n"))
    page = host.logs(FIRST.name)
    log[:] = [(SECOND_0 + 9 * 10**9, b"nine\n")]
    assert host.logs(FIRST.name, page.position) == replace(
        page, text="nine\n", position=SECOND_0 + 9 * 10**9, lost=True
    )


def test_the_end_of_a_pod_that_was_replaced_is_read_while_it_is_there(host: KubernetesHost, api: KubernetesApi) -> None:
    up(host, FIRST)
    log_of(api).append((SECOND_0, b"one\n"))
    page = host.logs(FIRST.name)
    log_of(api).append((SECOND_0 + 1, b"bye\n"))
    host.restart(FIRST.name)
    page = host.logs(FIRST.name, page.position)
    assert (page.text, page.lost) == ("bye\n", False)
    host.look(FIRST.name)
    log_of(api).append((SECOND_0 + 2, b"anew\n"))
    page = host.logs(FIRST.name, page.position)
    assert (page.text, page.lost) == ("anew\n", True), "the Pod of before is gone, perhaps with more"
