from django.http import JsonResponse

from .models import Invoice

COLUMNS = {"created", "total"}


def report(request):
    column = request.GET.get("sort", "created")
    if column not in COLUMNS:
        column = "created"
    return JsonResponse({"rows": list(Invoice.objects.order_by(column).values("id", "total"))})
