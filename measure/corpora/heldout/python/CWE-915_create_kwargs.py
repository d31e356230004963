from django.http import JsonResponse

from .models import Account


def create(request):
    account = Account.objects.create(**request.POST.dict())
    return JsonResponse({"id": account.pk})
