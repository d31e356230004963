from django.http import JsonResponse

from .models import Event


def events(request):
    where = "venue = '" + request.GET["venue"] + "'"
    return JsonResponse({"events": list(Event.objects.extra(where=[where]).values("id", "title"))})
