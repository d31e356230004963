from django.contrib.auth.decorators import login_required
from django.http import JsonResponse

from .models import Invoice


@login_required
def invoice(request, invoice_id):
    found = Invoice.objects.get(pk=invoice_id)
    return JsonResponse({"total": str(found.total), "address": found.address})
