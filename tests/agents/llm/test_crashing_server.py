"""A real server whose runner crashes comes back; its HTTP 500 is waited for, unlike a recording's missing reply."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agents.llm.base import ModelUnavailable
from agents.llm.ollama import OllamaProvider
from agents.llm.runner import ModelRunner


class Crashing(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b'{"error": "llama runner process has terminated: exit status 2"}'
        self.send_response(500)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def crashing():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Crashing)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_a_crashed_runner_is_waited_for(crashing):
    with ModelRunner(attempts=1) as runner, pytest.raises(ModelUnavailable, match="terminated"):
        runner.complete(OllamaProvider(crashing), [{"role": "user", "content": "hello"}])
