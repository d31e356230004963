from django.http import HttpResponse


def choose_tenant(request):
    request.session["tenant_id"] = request.GET["tenant"]
    return HttpResponse("ok")
