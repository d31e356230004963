"""What people type about their own account."""

from __future__ import annotations

from typing import Any

from django import forms

from projects.services.accounts.api_tokens import LONGEST, SCOPES

RULES_HELP = "At least 8 characters; not a common one, not your name."


def password_field(label: str, *, new: bool = False, help_text: str = "") -> forms.CharField:
    """A password that a manager of passwords fills in."""
    kind = "new-password" if new else "current-password"
    return forms.CharField(
        label=label,
        strip=False,
        max_length=1_000,
        widget=forms.PasswordInput(attrs={"autocomplete": kind}),
        help_text=help_text,
    )


def code_field(help_text: str) -> forms.CharField:
    """A code of the authenticator app, or a recovery code."""
    attrs = {"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}
    return forms.CharField(label="Code", max_length=40, widget=forms.TextInput(attrs=attrs), help_text=help_text)


class CodeForm(forms.Form):
    """The second step of signing in."""

    code = code_field("Six digits from your authenticator app, or one of your recovery codes.")


class PasswordForm(forms.Form):
    """A new password, with the present one as proof."""

    old = password_field("Present password")
    new = password_field("New password", new=True, help_text=RULES_HELP)
    again = password_field("New password again", new=True)

    def clean(self) -> dict[str, Any]:
        """Both new passwords agree."""
        data = super().clean() or {}
        if data.get("new") and data.get("new") != data.get("again"):
            self.add_error("again", "The two new passwords differ.")
        return data


class FactorForm(forms.Form):
    """Turning a second factor on: the password, so that a browser left open is not enough, and a first code."""

    password = password_field("Your password")
    code = code_field("The six digits the app shows now.")


class FactorOffForm(forms.Form):
    """Turning it off, or asking for new recovery codes."""

    password = password_field("Your password")
    code = code_field("Six digits from the app, or a recovery code.")


class TokenForm(forms.Form):
    """A new API token."""

    name = forms.CharField(max_length=80, help_text="What uses it, e.g. “CI of Todo API”.")
    scopes = forms.MultipleChoiceField(
        choices=[(name, f"{name}: {what}") for name, what in SCOPES.items()],
        initial=["read"],
        label="May",
        widget=forms.CheckboxSelectMultiple,
    )
    days = forms.IntegerField(min_value=1, max_value=LONGEST, initial=90, label="Lives for (days)")
    password = password_field("Your password")
