"""Messages arrive: a receiver that fails, a worker that dies, a mail server that is away."""

import base64
import hashlib
import hmac
import http.server
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import mail

from projects.errors import BadInput
from projects.models import Notice, NoticePreferences
from projects.services.audit.sealing import seal
from projects.services.notices import delivery, outbox
from projects.services.notices.webhooks import MARK, check_address, new_secret, signature
from tests.factories import make_user
from tests.rows import fresh
from tests.tables import each_row

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
ITEM = {"kind": "finished", "project": "Clinic", "text": "run finished", "link": "/runs/1"}


class Receiver(http.server.ThreadingHTTPServer):
    """Answers each call with the next status, then with 200; keeps what it accepted."""

    def __init__(self, statuses: list[int]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.statuses, self.seen, self.accepted = statuses, list[str](), list[tuple[dict[str, str], bytes]]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append(self.headers["webhook-id"])
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        if status == 200:
            self.server.accepted.append((dict(self.headers), body))
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"{self.server.url}/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_HOSTS = ["127.0.0.1"]
    server = Receiver([])
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def hooked(url: str) -> tuple[Any, str]:
    user, secret = make_user(), new_secret()
    sealed = seal(secret.encode()).decode()
    NoticePreferences.objects.create(
        user=user, webhook_url=url, webhook_secret=sealed, origin="https://swe.example.org"
    )
    return user, secret


def put(user: Any, channel: str = "webhook", key: str = "a") -> Notice:
    outbox.put(user, [channel], ITEM, key=key, now=NOW)
    return Notice.objects.get(user=user, key=key)


def test_a_receiver_that_fails_twice_gets_the_message_once(receiver: Receiver) -> None:
    receiver.statuses = [500, 503]
    user, secret = hooked(receiver.url)
    notice, moment = put(user), NOW
    for _ in range(10):
        delivery.deliver(notice.pk, moment)
        moment += timedelta(minutes=10)
    assert receiver.seen == [str(notice.ident)] * 3
    [(headers, body)] = receiver.accepted
    key = base64.b64decode(secret.removeprefix(MARK))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{digest}"
    assert json.loads(body) == {
        "type": "finished",
        "items": [ITEM | {"link": "https://swe.example.org/runs/1"}],
    }
    assert (fresh(notice).status, notice.tries, notice.problem) == ("sent", 3, "")


def test_a_try_that_failed_waits_before_the_next_and_two_workers_do_not_send_one_message(receiver: Receiver) -> None:
    receiver.statuses = [500]
    notice = put(hooked(receiver.url)[0])
    for seconds in (0, 1, 9):
        delivery.deliver(notice.pk, NOW + timedelta(seconds=seconds))
    assert len(receiver.seen) == 1
    for _ in range(3):
        delivery.deliver(notice.pk, NOW + timedelta(seconds=10))
    assert len(receiver.accepted) == 1


def test_a_lost_workers_mail_is_sent(receiver: Receiver, monkeypatch: pytest.MonkeyPatch, enqueued: list[Any]) -> None:
    notice = put(hooked(receiver.url)[0])

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(delivery.SENDERS, "webhook", killed)
    with pytest.raises(KeyboardInterrupt):
        delivery.deliver(notice.pk, NOW)
    monkeypatch.undo()
    delivery.deliver(notice.pk, NOW + timedelta(seconds=30))
    assert receiver.accepted == []  # the first worker may still be at it
    delivery.deliver(notice.pk, NOW + delivery.CLAIM)
    assert [headers["webhook-id"] for headers, _ in receiver.accepted] == [str(notice.ident)]


def test_a_message_that_waits_is_found_after_a_restart(
    receiver: Receiver, enqueued: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    notice = put(hooked(receiver.url)[0])
    enqueued.clear()
    with django_capture_on_commit_callbacks(execute=True):
        delivery.sweep(NOW)
    assert [job for job in enqueued if "deliver_notice" in str(job) and str(notice.pk) in str(job)]


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.statuses = [302]
    notice = put(hooked(receiver.url)[0])
    delivery.deliver(notice.pk, NOW)
    assert fresh(notice).problem == "The receiver answered 302."
    assert len(receiver.seen) == 1


def test_a_receiver_that_never_works_is_given_up() -> None:
    notice, moment = put(hooked("https://gone.invalid/")[0]), NOW
    for _ in range(20):
        delivery.deliver(notice.pk, moment)
        moment += timedelta(days=1)
    assert (fresh(notice).status, notice.tries) == ("given_up", len(delivery.PAUSES) + 1)


@each_row(
    "url",
    [
        "http://example.org/",
        "ftp://example.org/",
        "https://user:word@example.org/",
        "https:///path",
        "http://127.0.0.1:8000/",
        "https://127.0.0.1/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://localhost/",
        "https://0.0.0.0/",
        "https://host:99999/",
        "https://ex\nample.org/",
        "javascript:alert(1)",
    ],
)
def test_addresses_that_webhooks_may_not_go_to(url: str) -> None:
    with pytest.raises(BadInput):
        check_address(url)


def test_a_name_that_moves_into_a_private_network_is_refused_at_the_call(
    receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    notice = put(hooked(receiver.url)[0])
    settings.WEBHOOK_HOSTS = []  # as if the name had pointed elsewhere when it was saved
    delivery.deliver(notice.pk, NOW)
    assert "private network" in fresh(notice).problem
    assert receiver.seen == []


def test_the_signature_is_the_one_of_the_standard() -> None:
    """The example of standardwebhooks.com."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    assert signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body) == (
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


def test_an_email_names_project_kind_and_link_and_without_a_server_the_reason_is_kept(settings: Any) -> None:
    user, _ = hooked("")
    settings.EMAIL_HOST = ""
    notice = put(user, "email")
    delivery.deliver(notice.pk, NOW)
    assert "No mail server" in fresh(notice).problem
    assert mail.outbox == []
    settings.EMAIL_HOST = "mail.example.org"
    delivery.deliver(put(user, "email", "b").pk, NOW)
    [message] = mail.outbox
    assert message.to == [user.email]
    assert message.subject == "AI SWE, Clinic: run finished"
    assert message.body == "Clinic: run finished\nhttps://swe.example.org/runs/1\n"
