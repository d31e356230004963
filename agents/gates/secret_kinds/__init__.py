"""The table of known kinds of secrets, by where they are issued. One table for the gate, the firewall and redaction."""

from agents.gates.secret_kinds import chat, cloud, code, keys, models, money, services
from agents.gates.secret_kinds.shape import Format

FORMATS: tuple[Format, ...] = (
    *cloud.FORMATS,
    *code.FORMATS,
    *chat.FORMATS,
    *money.FORMATS,
    *models.FORMATS,
    *services.FORMATS,
    # Last: a vendor's own kind names a secret better than the place where it stands.
    *keys.FORMATS,
)

__all__ = ["FORMATS", "Format"]
