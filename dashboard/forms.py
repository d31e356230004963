"""What people type, checked before a service sees it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone

from dashboard.account_forms import RULES_HELP, password_field
from projects.models import Requirement
from projects.models.project import Autonomy, Role
from projects.services.planning.projects import LIMITS

RETRIES = LIMITS["max_retries"]
MAX_DOCUMENT = 5 * 1024 * 1024  # bytes


class FirstAdminForm(forms.Form):
    """Name and password of the first administrator."""

    username = forms.CharField(max_length=150, widget=forms.TextInput(attrs={"autocomplete": "username"}))
    password = password_field("Password", new=True, help_text=RULES_HELP)
    again = password_field("Password again", new=True)

    def clean(self) -> dict[str, Any]:
        """Both passwords agree and are not weak."""
        data = super().clean() or {}
        password = data.get("password")
        if password and password != data.get("again"):
            self.add_error("again", "The two passwords differ.")
        elif password:
            try:
                validate_password(password, get_user_model()(username=data.get("username", "")))
            except ValidationError as weak:
                self.add_error("password", weak)
        return data


class DocumentForm(forms.Form):
    """A requirement document: a file, or pasted text."""

    file = forms.FileField(
        required=False,
        label="Upload a .md or .txt file",
        widget=forms.ClearableFileInput(attrs={"accept": ".md,.markdown,.txt,text/plain,text/markdown"}),
        help_text="Up to 5 MB. Mermaid text is read; images are not.",
    )
    text = forms.CharField(
        required=False,
        strip=False,
        label="Or paste it",
        widget=forms.Textarea(
            attrs={"rows": 12, "spellcheck": "false", "placeholder": "# Todo API\n\nThe API shall …"}
        ),
    )

    def clean(self) -> dict[str, Any]:
        """Exactly one of them is given."""
        data = super().clean() or {}
        upload, text = data.get("file"), (data.get("text") or "").strip()
        if not upload and not text:
            raise ValidationError("Choose a file or paste the text of your requirements.")
        if upload and text:
            raise ValidationError("Give either a file or pasted text, not both.")
        if upload and upload.size > MAX_DOCUMENT:
            raise ValidationError(f"The file has {upload.size:,} bytes; at most {MAX_DOCUMENT:,} are read. Split it.")
        return data

    def document(self) -> tuple[bytes, str]:
        """What to read: bytes and a file name."""
        upload: UploadedFile | None = self.cleaned_data.get("file")
        if upload:
            return upload.read(), upload.name or "upload.md"
        return self.cleaned_data["text"].encode("utf-8", "replace"), "pasted.md"


class ProjectForm(DocumentForm):
    """A new project with its first document."""

    name = forms.CharField(max_length=120, help_text="What is being built, e.g. “Todo API”.")
    autonomy = forms.ChoiceField(
        choices=Autonomy.choices,
        initial=Autonomy.PLAN_AND_GATES,
        help_text="Where a person must approve before the agents continue.",
    )
    max_retries = forms.IntegerField(
        min_value=RETRIES.low,
        max_value=RETRIES.high,
        initial=RETRIES.default,
        label=RETRIES.label,
        help_text="After that the task is escalated.",
    )
    field_order = ["name", "file", "text", "autonomy", "max_retries"]


class RequirementForm(forms.Form):
    """One requirement's words."""

    text = forms.CharField(max_length=4_000, widget=forms.Textarea(attrs={"rows": 3}))
    kind = forms.ChoiceField(choices=Requirement.Kind.choices)
    acceptance = forms.CharField(
        required=False,
        max_length=8_000,
        label="Acceptance criteria, one per line",
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def clean_acceptance(self) -> list[str]:
        """The lines that say something."""
        return [text for row in self.cleaned_data["acceptance"].splitlines() if (text := row.strip())][:50]


class TaskForm(forms.Form):
    """One task of a plan."""

    title = forms.CharField(max_length=200)
    description = forms.CharField(required=False, max_length=8_000, widget=forms.Textarea(attrs={"rows": 4}))
    expects = forms.CharField(required=False, max_length=2_000, label="Expected result")
    agent = forms.ChoiceField(
        choices=[("coder", "Coder"), ("tester", "Tester"), ("reviewer", "Reviewer"), ("sre", "SRE")]
    )
    minutes = forms.IntegerField(min_value=1, max_value=60, label="Minutes", help_text="At most 60.")
    requirements = forms.CharField(required=False, help_text="Ids, separated by commas.")
    needs = forms.CharField(required=False, help_text="Tasks that come first, separated by commas.")
    comment = forms.CharField(required=False, max_length=500, label="Why this change")

    @staticmethod
    def _list(text: str) -> list[str]:
        return list(dict.fromkeys(part for raw in text.split(",") if (part := raw.strip())))[:200]

    def clean_requirements(self) -> list[str]:
        """Ids in their order, each once."""
        return self._list(self.cleaned_data["requirements"])

    def clean_needs(self) -> list[str]:
        """Keys in their order, each once."""
        return self._list(self.cleaned_data["needs"])


class MemberForm(forms.Form):
    """Somebody who joins a project."""

    username = forms.CharField(max_length=150)
    role = forms.ChoiceField(choices=Role.choices)


class DispositionForm(forms.Form):
    """What is decided about a finding."""

    disposition = forms.ChoiceField(
        choices=[
            ("accepted", "Accept the risk"),
            ("false_positive", "False positive"),
            ("wont_fix", "Will not be fixed"),
            ("override", "Override the block (two persons)"),
        ]
    )
    reason = forms.CharField(max_length=2_000, widget=forms.Textarea(attrs={"rows": 2}))
    days = forms.IntegerField(min_value=1, max_value=365, initial=30, label="Valid for (days)")
    second = forms.CharField(required=False, max_length=150, label="Second person")

    def expires_at(self) -> Any:
        """When the decision lapses."""
        return timezone.now() + timedelta(days=self.cleaned_data["days"])
