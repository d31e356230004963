from django.http import JsonResponse


def remember(request):
    key = request.POST["key"]
    request.session[key] = request.POST["value"]
    return JsonResponse({"saved": key})
