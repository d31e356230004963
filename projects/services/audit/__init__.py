"""The audit trail: events, their hash chain, signatures, exports, notifications."""
