import services


def dispatch(request):
    handler = getattr(services, request.GET["action"])
    return handler(**request.GET.dict())
