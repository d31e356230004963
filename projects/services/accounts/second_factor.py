"""The second factor: codes of an authenticator app, and recovery codes for a lost phone."""

from __future__ import annotations

import hashlib
import secrets

import pyotp
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from pyotp.exceptions import OTPVerificationError

from projects.errors import BadInput, Unsealable
from projects.models import RecoveryCode, SecondFactor
from projects.services.audit.sealing import seal, unseal
from projects.services.audit.sitelog import note

ISSUER = "AI SWE"
DRIFT = 1  # steps of 30 s a phone's clock may be off either way
RECOVERY_CODES = 10
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # no characters that look alike
LENGTH = 12  # characters: 59 bits, more than the hash needs to keep it


def has_one(user: User) -> bool:
    """Whether signing in takes a code."""
    return SecondFactor.objects.filter(user=user).exists()


def new_secret() -> str:
    """A secret to show to an authenticator app; nothing is stored until a code of it is accepted."""
    return pyotp.random_base32()


def address_of(secret: str, user: User) -> str:
    """The otpauth:// address an authenticator app reads from the QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=user.get_username(), issuer_name=ISSUER)


def _step(secret: str, code: str) -> int | None:
    """The step a code belongs to, or None when it is wrong."""
    digits = "".join(code.split())
    if not (digits.isascii() and digits.isdecimal() and len(digits) == 6):
        return None
    try:
        return pyotp.TOTP(secret).verify_and_get_timecode(digits, valid_window=DRIFT)
    except OTPVerificationError:
        return None


def turn_on(user: User, secret: str, code: str) -> list[str]:
    """Ask for codes of this secret from now on; returns the recovery codes, which are never shown again.

    Raises BadInput when the code is not one of the secret's, or there is a second factor already.
    """
    step = _step(secret, code)
    if step is None:
        raise BadInput("That is not the code the app shows now. Check the clock of the phone and try the next code.")
    try:
        with transaction.atomic():
            SecondFactor.objects.create(user=user, secret=seal(secret.encode()).decode(), last_step=step)
            codes = _renew(user)
            note(user, "second_factor.on", user.get_username())
    except IntegrityError as twice:
        raise BadInput("A second factor is already set up. Turn it off first.") from twice
    return codes


def turn_off(user: User, *, by: object = None) -> bool:
    """Stop asking for codes; False when none was asked for. The caller has checked a code or is the operator."""
    with transaction.atomic():
        gone, _ = SecondFactor.objects.filter(user=user).delete()
        RecoveryCode.objects.filter(user=user).delete()
        if gone:
            note(by or user, "second_factor.off", user.get_username())
    return bool(gone)


def renew_codes(user: User) -> list[str]:
    """New recovery codes; the old ones stop working."""
    with transaction.atomic():
        codes = _renew(user)
        note(user, "recovery_codes.renewed", user.get_username())
    return codes


def codes_left(user: User) -> int:
    """How many recovery codes were not used yet."""
    return RecoveryCode.objects.filter(user=user, used_at=None).count()


def check(user: User, code: str) -> bool:
    """Whether the code of the app, or an unused recovery code, is right. Each is accepted once."""
    factor = SecondFactor.objects.filter(user=user).first()
    if factor is None:
        return False
    try:
        step = _step(unseal(factor.secret.encode()).decode(), code)
    except Unsealable:
        step = None  # the session secret was changed: a recovery code, or the operator, helps
    if step is not None:
        # A code that somebody saw being typed cannot be used again: its step must be newer than the last one.
        return bool(SecondFactor.objects.filter(pk=factor.pk, last_step__lt=step).update(last_step=step))
    with transaction.atomic():
        unused = RecoveryCode.objects.filter(user=user, digest=_digest(user, code), used_at=None)
        if not unused.update(used_at=timezone.now()):
            return False
        note(user, "recovery_code.used", user.get_username(), {"left": codes_left(user)})
    return True


def _digest(user: User, code: str) -> str:
    plain = "".join(c for c in code.lower() if c in ALPHABET)
    return hashlib.sha256(f"{user.pk}:{plain}".encode()).hexdigest()


def _renew(user: User) -> list[str]:
    RecoveryCode.objects.filter(user=user).delete()
    words = ["".join(secrets.choice(ALPHABET) for _ in range(LENGTH)) for _ in range(RECOVERY_CODES)]
    RecoveryCode.objects.bulk_create([RecoveryCode(user=user, digest=_digest(user, word)) for word in words])
    return [f"{word[:4]}-{word[4:8]}-{word[8:]}" for word in words]
