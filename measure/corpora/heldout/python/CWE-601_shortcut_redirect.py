from django.shortcuts import redirect


def leave(request):
    url = request.GET["url"]
    return redirect(url)
