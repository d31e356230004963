"""Tests for a module that exists: written until its branch coverage is met, proven in the sandbox (SWE-US-02)."""
