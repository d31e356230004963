"""Notifications: who wants which, the outbox, and the channels they are sent by."""
