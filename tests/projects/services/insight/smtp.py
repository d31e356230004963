"""A mail server on the loopback, small but real: it takes messages, or refuses the first ones."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage


class Server(socketserver.ThreadingTCPServer):
    """Keeps what it took."""

    allow_reuse_address = daemon_threads = True

    def __init__(self, refuse: int) -> None:
        self.refuse, self.messages, self.recipients = refuse, list[EmailMessage](), list[list[str]]()
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Handler(socketserver.StreamRequestHandler):
    """One conversation (RFC 5321, as much as a client needs)."""

    server: Server

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())

    def handle(self) -> None:
        self.say("220 here")
        to: list[str] = []
        while line := self.rfile.readline().decode().strip():
            verb = line.split(maxsplit=1)[0].upper()
            if verb == "DATA":
                self.say("354 go on")
                self.take(to)
            elif verb == "QUIT":
                self.say("221 bye")
                return
            elif verb == "RCPT" and self.server.refuse > 0:
                self.server.refuse -= 1
                self.say("451 try again later")
            else:
                if verb == "RCPT":
                    to.append(line.partition("<")[2].partition(">")[0])
                self.say("250 fine")

    def take(self, to: list[str]) -> None:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line[1:] if line.startswith(b"..") else line)
        self.server.messages.append(message_from_bytes(b"".join(lines), policy=policy.default))  # type: ignore[arg-type]
        self.server.recipients.append(to)
        self.say("250 taken")


@contextmanager
def mail_server(settings: object, refuse: int = 0) -> Iterator[Server]:
    """Such a server, and Django's settings for it; the first `refuse` recipients are refused for now."""
    with Server(refuse) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        backend = "django.core.mail.backends.smtp.EmailBackend"
        for name, value in (
            ("EMAIL_BACKEND", backend),
            ("EMAIL_HOST", "127.0.0.1"),
            ("EMAIL_PORT", server.port),
            ("EMAIL_USE_TLS", False),
            ("EMAIL_USE_SSL", False),
        ):
            setattr(settings, name, value)
        try:
            yield server
        finally:
            server.shutdown()
