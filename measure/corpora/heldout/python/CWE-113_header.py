from django.http import HttpResponse


def export(request):
    response = HttpResponse(b"", content_type="text/csv")
    response["Content-Disposition"] = "attachment; filename=" + request.GET["name"]
    return response
