"""The forms of plan editing: requirements and needs are picked from those that there are."""

from __future__ import annotations

from typing import Any

from django import forms

from projects.services.planning import outside

Choices = list[tuple[str, str]]


def _picks(label: str, choices: Choices) -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(required=False, label=label, choices=choices, widget=forms.CheckboxSelectMultiple)


class TaskForm(forms.Form):
    """One task of a plan."""

    title = forms.CharField(max_length=200)
    description = forms.CharField(required=False, max_length=8_000, widget=forms.Textarea(attrs={"rows": 4}))
    expects = forms.CharField(required=False, max_length=2_000, label="Expected result")
    minutes = forms.IntegerField(min_value=1, max_value=60, label="Minutes", help_text="At most 60.")

    def __init__(self, *args: Any, requirements: Choices, needs: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["requirements"] = _picks("Requirements", requirements)
        self.fields["needs"] = _picks("Needs: tasks that come first", needs)
        if others := outside.names():
            self.fields["agent"] = forms.ChoiceField(
                label="Code is written by",
                required=False,
                choices=[("coder", "As the project says"), *((name, name) for name in others)],
            )


class SplitForm(forms.Form):
    """The two parts of a task."""

    title = forms.CharField(max_length=200, label="Title of the first part")
    minutes = forms.IntegerField(min_value=1, max_value=60, label="Minutes of the first part")
    second_title = forms.CharField(max_length=200, label="Title of the second part")
    second_minutes = forms.IntegerField(min_value=1, max_value=60, label="Minutes of the second part")

    def __init__(self, *args: Any, requirements: Choices, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["requirements"] = _picks("Requirements of the first part", requirements)
        self.fields["second_requirements"] = _picks("Requirements of the second part", requirements)
        self.order_fields(["title", "minutes", "requirements"])

    def edit(self, key: str, new: str) -> dict[str, Any]:
        """The edit that it asks for."""
        names = ("title", "minutes", "requirements")
        first, second = ({name: self.cleaned_data[part + name] for name in names} for part in ("", "second_"))
        return {"do": "split", "key": key, "new": new, "first": first, "second": second}
