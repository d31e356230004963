"""The workers' way out: to the hosts of the package indexes, as ciphertext, and nowhere else."""

from __future__ import annotations

import asyncio

import pytest

from sandbox.package_index.egress import Egress, allowed_targets


def talk(words: bytes, *allowed: str, far: bool = True) -> tuple[bytes, bytes]:
    """What a client gets that says `words` and then "hello", and what the far host got; `FAR` stands for that host."""

    async def run() -> tuple[bytes, bytes]:
        heard = bytearray()

        async def host(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.extend(await reader.read(100))
            writer.write(b"welcome")
            writer.close()

        server = await asyncio.start_server(host, "127.0.0.1", 0)
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        if not far:
            server.close()
        targets = {one.replace("FAR", place) for one in allowed}
        proxy = await asyncio.start_server(Egress(targets).serve, "127.0.0.1", 0, limit=8192)
        async with server, proxy:
            reader, writer = await asyncio.open_connection(*proxy.sockets[0].getsockname())
            writer.write(words.replace(b"FAR", place.encode()))
            answer = await reader.readuntil(b"\r\n\r\n") if words.endswith(b"\r\n\r\n") else b""
            if b" 200 " in answer:
                writer.write(b"hello")
            answer += await reader.read()
            writer.close()
        return answer, bytes(heard)

    return asyncio.run(run())


def test_an_allowed_host_is_spoken_to() -> None:
    answer, heard = talk(b"CONNECT FAR HTTP/1.1\r\n\r\n", "FAR")
    assert (answer, heard) == (b"HTTP/1.1 200 Connected\r\n\r\nwelcome", b"hello")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (b"CONNECT FAR HTTP/1.1\r\n\r\n", b"403"),
        (b"CONNECT pypi.org.example.com:443 HTTP/1.1\r\n\r\n", b"403"),
        (b"CONNECT pypi.org:80 HTTP/1.1\r\n\r\n", b"403"),
        (b"GET http://FAR/ HTTP/1.1\r\n\r\n", b"405"),
    ],
)
def test_everything_else_is_refused_and_hears_nothing(words: bytes, status: bytes) -> None:
    answer, heard = talk(words, "pypi.org:443")
    assert answer.split()[1] == status
    assert heard == b""


def test_a_head_without_end_is_cut_off() -> None:
    assert talk(b"CONNECT " + b"a" * 20_000, "FAR") == (b"", b"")


def test_a_host_that_does_not_answer_is_a_bad_gateway() -> None:
    assert b" 502 " in talk(b"CONNECT FAR HTTP/1.1\r\n\r\n", "FAR", far=False)[0]


def test_the_hosts_are_those_of_the_configured_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AISWE_PYPI_INDEX", "PIP_INDEX_URL", "AISWE_NPM_REGISTRY"):
        monkeypatch.delenv(name, raising=False)
    assert allowed_targets() == {"pypi.org:443", "files.pythonhosted.org:443", "registry.npmjs.org:443"}
    monkeypatch.setenv("AISWE_PYPI_INDEX", "https://me:secret@Index.example.org:8443/simple/")
    monkeypatch.setenv("AISWE_NPM_REGISTRY", "none")
    monkeypatch.setenv("AISWE_EGRESS_HOSTS", "a.example.org, b.example.org:8080")
    assert allowed_targets() == {"index.example.org:8443", "a.example.org:443", "b.example.org:8080"}
