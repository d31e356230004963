"""Uploads nobody should send, to a real server: refused with a page, and its memory stays where it was."""

import contextlib
import http.client
import re
import urllib.parse
from pathlib import Path

import pytest

from tests.aiswe_site.running import aiswe, up

BIG = 200_000_000
BOUNDARY = "fault-boundary"


def megabytes_at_most(pid):
    """The most memory the process ever used."""
    (line,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(line) / 1024


class Browser:
    """A person with a cookie jar."""

    def __init__(self, address):
        self.host, self.cookies = urllib.parse.urlsplit(address).netloc, {}

    def ask(self, method, path, body=None, headers=None):
        """Send; returns status and page."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), **(headers or {})}
        if body is not None:
            sent |= {"Origin": f"http://{self.host}"}
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # seen enough; its answer may still be there
            connection.request(method, path, body=body, headers=sent)
        answer = connection.getresponse()
        for name, value in answer.getheaders():
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        page = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer.status, page

    def token(self, path):
        """The form's token on a page."""
        return re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.ask("GET", path)[1])[1]

    def sign_in(self, name, password):
        """Sign in by the form."""
        fields = {"csrfmiddlewaretoken": self.token("/sign-in"), "username": name, "password": password}
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        status, _ = self.ask("POST", "/sign-in", urllib.parse.urlencode(fields), form)
        assert status == 302

    def upload(self, path, size, *, block=b"The user shall add.\n" * 3_277, as_text=False):
        """Send a form with a document of `size` bytes, never holding it whole."""
        head = "".join(
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in (
                ("csrfmiddlewaretoken", self.token("/projects/new")),
                ("name", "Big"),
                ("autonomy", "plan_gates"),
                ("max_retries", "5"),
            )
        )
        head += f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{"text" if as_text else "file"}"'
        head += "\r\n\r\n" if as_text else '; filename="prd-of-mine.md"\r\nContent-Type: text/markdown\r\n\r\n'
        tail = f"\r\n--{BOUNDARY}--\r\n".encode()

        def body():
            yield head.encode()
            for start in range(0, size, len(block)):
                yield block[: min(len(block), size - start)]
            yield tail

        length = len(head.encode()) + size + len(tail)
        headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "Content-Length": str(length)}
        return self.ask("POST", path, body(), headers)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = tmp_path_factory.mktemp("uploads")
    made = aiswe("config", "admin", "ada", "--password", "a long enough passphrase", home=home)
    assert made.returncode == 0, made.stderr
    with up(home) as running:
        browser = Browser(running.address)
        browser.sign_in("ada", "a long enough passphrase")
        yield running, browser


def test_two_hundred_megabytes_are_refused_with_a_page_and_without_being_held(server):
    running, browser = server
    browser.upload("/projects/new", 1_000_000)  # what any upload takes has been taken
    before = megabytes_at_most(running.worker)
    status, page = browser.upload("/projects/new", BIG)
    assert status == 413
    assert "Split it" in page
    assert "Traceback" not in page
    assert megabytes_at_most(running.worker) < before + 40
    assert browser.ask("GET", "/")[0] == 200


def test_two_hundred_megabytes_of_pasted_text_are_refused_too(server):
    running, browser = server
    before = megabytes_at_most(running.worker)
    status, page = browser.upload("/projects/new", BIG, as_text=True)
    assert status == 413
    assert "Split it" in page
    assert megabytes_at_most(running.worker) < before + 40
    assert browser.ask("GET", "/")[0] == 200


def test_a_body_without_a_length_is_bounded_too(server):
    running, browser = server
    before = megabytes_at_most(running.worker)
    block = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    headers = {"Transfer-Encoding": "chunked", "Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    connection = http.client.HTTPConnection(browser.host, timeout=60)
    connection.putrequest("POST", "/projects/new")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    for _ in range(400):
        connection.send(block)
    connection.send(b"0\r\n\r\n")
    answer = connection.getresponse()
    assert answer.status == 413
    connection.close()
    assert megabytes_at_most(running.worker) < before + 40


def test_a_document_just_under_the_limit_of_the_form_is_told_the_limit_of_documents(server):
    _, browser = server
    status, page = browser.upload("/projects/new", 5_500_000)
    assert status == 422
    assert "Split it" in page


@pytest.mark.parametrize(
    ("size", "block", "words"),
    [
        (0, b" ", "file"),
        (5_000, b" \n", "empty"),
        (5_000, bytes(range(256)), "text"),
        (4_000_000, b"a\n" * 1_000, "lines"),
        (5_000, b"%PDF-1.7 1 0 obj endobj startxref %%EOF\n", "PDF"),
        (5_000, b"\x7fELF\x02\x01\x01\x00\x00\x00", "ELF"),
    ],
    ids=["nothing", "blanks", "binary", "too many lines", "a PDF", "a program"],
)
def test_what_is_no_document_is_refused_on_the_form(server, size, block, words):
    _, browser = server
    status, page = browser.upload("/projects/new", size, block=block)
    assert status == 422
    assert words in page
    assert "Traceback" not in page
    assert browser.ask("GET", "/projects/big")[0] == 404
