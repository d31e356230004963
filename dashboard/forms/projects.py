"""What people type, checked before a service sees it."""

from __future__ import annotations

import shlex
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone

from projects.models import Requirement
from projects.models.project import Autonomy, Role
from projects.services.accounts.api_tokens import LONGEST, SCOPES
from projects.services.planning import outside, reading
from projects.services.planning.documents import ADDS, REPLACES
from projects.services.planning.projects import LIMITS, MAX_RULES, SANDBOXES
from projects.services.repositories.recipes import built_in_recipes

RETRIES = LIMITS["max_retries"]
MAX_DOCUMENT = 5 * 1024 * 1024  # bytes
MAX_ARCHIVE = 50 * 1024 * 1024
RULES_HELP = "At least 8 characters; not a common one, not your name."


def password_field(label: str, *, new: bool = False, help_text: str = "") -> forms.CharField:
    """A password field that password managers recognize."""
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


class FirstAdminForm(forms.Form):
    """Name and password of the first administrator."""

    username = forms.CharField(max_length=150, widget=forms.TextInput(attrs={"autocomplete": "username"}))
    password = password_field("Password", new=True, help_text=RULES_HELP)
    again = password_field("Password again", new=True)
    token = forms.CharField(
        label="Set-up token",
        max_length=200,
        strip=True,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text="The console of the server shows it since its last start.",
    )

    def __init__(self, *args: Any, needs_token: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not needs_token:
            del self.fields["token"]

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
        label="Upload a document",
        widget=forms.ClearableFileInput(attrs={"accept": ",".join((*reading.ENDINGS, *reading.TYPES))}),
        help_text=f"{reading.ACCEPTED}, up to 5 MB. Mermaid and PlantUML diagrams are read; images are not.",
    )
    text = forms.CharField(
        required=False,
        strip=False,
        label="Or paste it",
        widget=forms.Textarea(
            attrs={"rows": 12, "spellcheck": "false", "placeholder": "# Todo API\n\nThe API shall …"}
        ),
    )

    ticket = forms.CharField(
        required=False,
        max_length=500,
        label="Or the address of a ticket",
        widget=forms.TextInput(
            attrs={"inputmode": "url", "placeholder": "https://example.atlassian.net/browse/SHOP-12"}
        ),
        help_text="Of Jira Cloud or a forge: text, criteria and documents are read, with the server’s account there.",
    )

    def clean(self) -> dict[str, Any]:
        """Exactly one of them is given."""
        data = super().clean() or {}
        upload = data.get("file")
        given = [bool(upload), bool((data.get("text") or "").strip()), bool(data.get("ticket"))]
        if not any(given):
            raise ValidationError(
                "Choose a file, paste the text of your requirements, or give the address of a ticket."
            )
        if sum(given) > 1:
            raise ValidationError("Give one of them: a file, pasted text, or the address of a ticket.")
        if upload and upload.size > MAX_DOCUMENT:
            raise ValidationError(f"The file has {upload.size:,} bytes; at most {MAX_DOCUMENT:,} are read. Split it.")
        return data

    def document(self) -> tuple[bytes, str]:
        """What to read: bytes and a file name; of a ticket no bytes, and its address."""
        upload: UploadedFile | None = self.cleaned_data.get("file")
        if upload:
            return upload.read(), upload.name or "upload.md"
        if self.cleaned_data["ticket"]:
            return b"", self.cleaned_data["ticket"]
        return self.cleaned_data["text"].encode("utf-8", "replace"), "pasted.md"


class AutonomyForm(forms.Form):
    """Where the agents wait for a person, and how often they try."""

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


class SettingsForm(AutonomyForm):
    """The settings of a project that its page shows, by the names of its columns."""

    sandbox_backend = forms.ChoiceField(
        choices=[(name, name) for name in SANDBOXES],
        label="Sandbox",
        help_text="Where its code runs; auto is Docker when it is ready, else bubblewrap.",
    )
    coder_agent = forms.ChoiceField(
        choices=lambda: [("", "The product's own coder"), *((name, name) for name in outside.names())],
        required=False,
        label="Code is written by",
        help_text="Another agent works on a copy in a sandbox; tests, gates and reviews are the same.",
    )
    push_remote = forms.CharField(
        required=False,
        max_length=500,
        label="Push to",
        widget=forms.TextInput(attrs={"class": "mono"}),
        help_text="An https or ssh address. Each push asks; only the branch of a run is pushed, never by force.",
    )
    house_rules = forms.CharField(
        required=False,
        max_length=MAX_RULES,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Patterns every task must obey, in Markdown.",
    )


class NextDocumentForm(DocumentForm):
    """A further document of a project, and what it is to the earlier ones."""

    relation = forms.ChoiceField(
        required=False,
        label="What it is to the earlier documents",
        choices=[
            ("", "Decide by its file name: the same name replaces, another one adds"),
            (REPLACES, "It replaces one: the one of its name, else the newest"),
            (ADDS, "It adds to them"),
        ],
        help_text="A document that replaces another one shows what it adds, alters and removes.",
    )


def _recipes() -> list[tuple[str, str]]:
    told = [(one.name, f"{one.title}: {one.summary[:1].lower()}{one.summary[1:]}") for one in built_in_recipes()]
    return [("", "Nothing: the planner chooses all files"), *told]


class ProjectForm(AutonomyForm, DocumentForm):
    """A new project with its first document."""

    name = forms.CharField(max_length=120, help_text="What is being built, e.g. “Todo API”.")
    recipe = forms.ChoiceField(
        choices=_recipes,
        required=False,
        label="Start from",
        help_text="A recipe is a first commit that runs, with tests, rules and hints for the planner.",
    )
    field_order = ["name", "recipe", "file", "text", "ticket", "autonomy", "max_retries"]


class ImportForm(forms.Form):
    """Code that is there, from one of three places."""

    archive = forms.FileField(
        required=False,
        label="Zip or tar archive",
        widget=forms.ClearableFileInput(attrs={"accept": ".zip,.tar,.gz,.tgz,.bz2,.xz"}),
        help_text="Up to 50 MB.",
    )
    address = forms.CharField(
        required=False,
        max_length=500,
        label="Git address",
        widget=forms.TextInput(attrs={"spellcheck": "false", "placeholder": "https://git.example.org/shop.git"}),
        help_text="https or ssh, without credentials.",
    )
    folder = forms.CharField(
        required=False,
        max_length=1_000,
        label="Folder on the server",
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
        help_text="Below a folder that an administrator listed in AISWE_IMPORT_ROOTS.",
    )
    name = forms.CharField(max_length=120, required=False, help_text="The name of its source by default.")
    branch = forms.CharField(required=False, max_length=200, help_text="The one that is checked out by default.")
    subfolder = forms.CharField(required=False, max_length=400, help_text="The part of it that is the project.")

    PLACES = ("archive", "address", "folder")

    def places(self) -> list[forms.BoundField]:
        """The fields of which one is given."""
        return [self[name] for name in self.PLACES]

    def details(self) -> list[forms.BoundField]:
        """The other fields."""
        return [field for field in self if field.name not in self.PLACES]

    def clean(self) -> dict[str, Any]:
        """Exactly one place is given."""
        data = super().clean() or {}
        if sum(bool(data.get(name)) for name in self.PLACES) != 1:
            raise ValidationError("Give exactly one: an archive, an address or a folder.")
        if data.get("archive") and data["archive"].size > MAX_ARCHIVE:
            raise ValidationError("The archive has more than 50 MB: use `aiswe project import` on the server.")
        return data


class BaselineForm(forms.Form):
    """How the tests of a project are run."""

    arguments = forms.CharField(
        required=False,
        max_length=2_000,
        label="Arguments of the test runner",
        help_text="Folders and options, in words as for a shell; what was found by default.",
    )
    python_path = forms.CharField(
        required=False, max_length=1_000, label="Folders of its packages", help_text="Besides the top: src, lib."
    )
    services = forms.MultipleChoiceField(
        required=False,
        choices=[("postgresql", "PostgreSQL"), ("mysql", "MySQL or MariaDB"), ("redis", "Redis")],
        widget=forms.CheckboxSelectMultiple,
        label="Servers for its tests",
        help_text="Besides those that its compose file names. Each run has its own.",
    )
    test_seconds = forms.FloatField(required=False, min_value=1, max_value=7200, label="Seconds for one test")
    suite_seconds = forms.FloatField(required=False, min_value=1, max_value=7200, label="Seconds for all tests")

    def clean_arguments(self) -> list[str]:
        """As words."""
        try:
            return shlex.split(self.cleaned_data["arguments"])
        except ValueError:
            raise ValidationError("A quotation mark is not closed.") from None

    def clean_python_path(self) -> list[str]:
        """As a list."""
        return [part.strip().rstrip("/") for part in self.cleaned_data["python_path"].split(",") if part.strip()]


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


class MemberForm(forms.Form):
    """Somebody who joins a project."""

    username = forms.CharField(max_length=150)
    role = forms.ChoiceField(choices=Role.choices)


class DispositionForm(forms.Form):
    """What is decided about a finding."""

    disposition = forms.ChoiceField(
        label="Decision",
        choices=[
            ("accepted", "Accept the risk"),
            ("false_positive", "False positive"),
            ("wont_fix", "Will not be fixed"),
            ("override", "Override the block (two persons)"),
        ],
    )
    reason = forms.CharField(max_length=2_000, widget=forms.Textarea(attrs={"rows": 2}))
    days = forms.IntegerField(min_value=1, max_value=365, initial=30, label="Valid for (days)")
    second = forms.CharField(
        required=False,
        max_length=150,
        label="Second person",
        help_text="Who must confirm a HIGH finding; leave empty to ask everyone who can.",
    )

    def expires_at(self) -> Any:
        """When the decision lapses."""
        return timezone.now() + timedelta(days=self.cleaned_data["days"])


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
