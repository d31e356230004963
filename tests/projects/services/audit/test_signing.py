"""The installation's key: made once, kept close, refused when it is not what it should be."""

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from projects.errors import BadInput
from projects.services.audit import signing


def test_the_key_is_made_at_first_use_and_only_its_owner_can_read_it(tmp_path):
    first = signing.private_key(tmp_path)
    assert stat.S_IMODE((tmp_path / signing.KEY_FILE).stat().st_mode) == 0o600
    assert signing.public_pem(signing.private_key(tmp_path).public_key()) == signing.public_pem(first.public_key())


def test_many_first_uses_at_once_end_with_one_key(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        keys = [pool.submit(signing.private_key, tmp_path) for _ in range(8)]
    assert len({signing.fingerprint(key.result().public_key()) for key in keys}) == 1
    assert [path.name for path in tmp_path.iterdir()] == [signing.KEY_FILE]


def test_a_key_that_others_can_read_is_refused(tmp_path):
    signing.private_key(tmp_path)
    (tmp_path / signing.KEY_FILE).chmod(0o644)
    with pytest.raises(BadInput, match="chmod 600"):
        signing.private_key(tmp_path)


def test_a_file_that_is_no_key_is_refused(tmp_path):
    path = tmp_path / signing.KEY_FILE
    path.write_text("not a key")
    path.chmod(0o600)
    with pytest.raises(BadInput, match="holds no private key"):
        signing.private_key(tmp_path)


def test_a_signature_holds_for_its_message_and_key_alone(tmp_path):
    key = signing.private_key(tmp_path)
    mark = signing.sign(b"message", key)
    (tmp_path / "other").mkdir()
    assert signing.is_signed(b"message", mark, key.public_key())
    assert not signing.is_signed(b"massage", mark, key.public_key())
    assert not signing.is_signed(b"message", mark, signing.private_key(tmp_path / "other").public_key())
    assert not signing.is_signed(b"message", "no base64!", key.public_key())


def test_a_public_key_comes_back_from_its_text_and_nothing_else_does(tmp_path):
    public = signing.private_key(tmp_path).public_key()
    assert signing.fingerprint(signing.read_public(signing.public_pem(public))) == signing.fingerprint(public)
    for text in ("", "ssh-ed25519 AAAA", "\udcff", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"):
        with pytest.raises(BadInput, match="public key"):
            signing.read_public(text)
