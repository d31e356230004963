"""What is sealed comes back exactly, and only with the secret; an older secret may be kept for a while."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.errors import Unsealable
from projects.models import SealedReply
from projects.services.audit.sealing import Seal, keep_reply, kept_reply, seal, unseal
from projects.services.planning import runs
from tests.factories import make_run

WORDS = 'PASSWORD = "correct horse battery staple"\n\ud800'


@given(st.binary(max_size=400))
def test_bytes_come_back_as_they_were(data):
    assert unseal(seal(data)) == data


def test_sealed_bytes_show_nothing_and_never_look_the_same_twice():
    assert b"staple" not in seal(b"staple" * 20)
    assert seal(b"staple") != seal(b"staple")


def test_another_secret_opens_nothing_and_says_the_way_out(settings):
    sealed = seal(b"x")
    settings.SECRET_KEY = "another" * 8
    with pytest.raises(Unsealable, match="AISWE_SECRET_KEY"):
        unseal(sealed)
    with pytest.raises(Unsealable, match="not known"):
        Seal().decrypt("rot13", b"x")


def test_an_older_secret_still_opens_what_it_sealed(settings):
    sealed, old = seal(b"x"), settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another" * 8, [old]
    assert unseal(sealed) == b"x"


def test_changed_bytes_are_refused():
    sealed = bytearray(seal(b"x" * 40))
    sealed[30] ^= 1
    with pytest.raises(Unsealable):
        unseal(bytes(sealed))


@pytest.mark.django_db
def test_a_reply_is_kept_word_for_word_until_its_run_is_over():
    run = make_run()
    keep_reply(run.pk, "T-01/g1/3/coder", WORDS)
    keep_reply(run.pk, "T-01/g1/3/coder", "something else")
    assert kept_reply(run.pk, "T-01/g1/3/coder") == WORDS
    assert kept_reply(run.pk, "T-01/g1/4/coder") is None
    assert b"staple" not in bytes(SealedReply.objects.get().blob)
    runs.move_run(run, "cancelled")
    assert not SealedReply.objects.exists()
