"""Test sets for the gates and the firewall, kept apart from their rules; see docs/explanation/heldout.md."""
