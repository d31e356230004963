from django import forms
from django.http import JsonResponse

from .models import Account


class AccountForm(forms.ModelForm):
    class Meta:
        model = Account
        fields = ["name", "language"]


def create(request):
    form = AccountForm(request.POST)
    if not form.is_valid():
        return JsonResponse({"errors": form.errors}, status=400)
    return JsonResponse({"id": form.save().pk})
