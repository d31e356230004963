from django.http import HttpResponse
from django.utils.html import format_html


def not_found(request):
    return HttpResponse(format_html("<p>No page at <b>{}</b></p>", request.GET.get("path", "")), status=404)
