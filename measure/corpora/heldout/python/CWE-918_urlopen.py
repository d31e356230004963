from urllib.request import urlopen

from django.http import HttpResponse


def proxy(request):
    with urlopen("http://" + request.GET["host"] + "/status") as answer:
        return HttpResponse(answer.read())
