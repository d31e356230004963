"""A git server as people run them: git's http-backend over https, with a certificate of an authority of its own."""

import base64
import datetime
import ipaddress
import os
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

TOKEN = "sesame"


def certificate(folder: Path) -> Path:
    """A file with a certificate for localhost that signed itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    file = folder / "server.pem"
    file.write_bytes(made.public_bytes(encoding) + key.private_bytes(encoding, kind, serialization.NoEncryption()))
    return file


class GitServer:
    """Serves the repositories of a folder below `/open/` and, with a token, below `/closed/`."""

    def __init__(self, folder: Path, pem: Path) -> None:
        self.folder, self.seen, self.ended = folder, list[tuple[str, str]](), threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Nothing on the console."""

            def do_GET(self) -> None:
                server.answer(self)

            do_POST = do_PATCH = do_PUT = do_DELETE = do_GET

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self.address = f"https://localhost:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        """Stop it, and let go of whom it kept waiting."""
        self.ended.set()
        self._http.shutdown()
        self._http.server_close()

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        """One answer, as the first part of the path says."""
        given = asked.headers.get("Authorization", "")
        self.seen.append((asked.path, given))
        kind, _, rest = asked.path.lstrip("/").partition("/")
        expected = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
        if kind == "closed" and given != f"Basic {expected}":
            self._words(asked, 401, **{"WWW-Authenticate": 'Basic realm="git"'})
        elif kind in ("open", "closed"):
            self._backend(asked, rest, "x" if kind == "closed" else "")
        elif kind == "moved":
            self._words(asked, 301, Location=f"{self.address}/open/{rest}")
        elif kind == "hangs":
            self.ended.wait(60)
        else:
            self._words(asked, int(kind))

    def _words(self, asked: BaseHTTPRequestHandler, status: int, **headers: str) -> None:
        asked.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            asked.send_header(name, value)
        asked.end_headers()

    def _backend(self, asked: BaseHTTPRequestHandler, path: str, user: str) -> None:
        path, _, query = path.partition("?")
        size = int(asked.headers.get("Content-Length", 0))
        told = {
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": f"/{path}",
            "QUERY_STRING": query,
            "REQUEST_METHOD": asked.command,
            "CONTENT_TYPE": asked.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(size),
            "HTTP_CONTENT_ENCODING": asked.headers.get("Content-Encoding", ""),
            "REMOTE_USER": user,
            "PATH": os.environ["PATH"],
        }
        done = subprocess.run(["git", "http-backend"], input=asked.rfile.read(size), env=told, capture_output=True)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        rows = dict(row.split(": ", 1) for row in head.decode().splitlines())
        self._words(asked, int(rows.pop("Status", "200").split()[0]), **rows, **{"Content-Length": str(len(body))})
        asked.wfile.write(body)
