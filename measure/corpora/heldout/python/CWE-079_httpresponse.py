from django.http import HttpResponse


def not_found(request):
    return HttpResponse("<p>No page at <b>%s</b></p>" % request.GET.get("path", ""), status=404)
