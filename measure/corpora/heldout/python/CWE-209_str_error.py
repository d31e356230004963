from django.http import JsonResponse


def pay(request):
    try:
        charge(request.POST["card"])
    except Exception as error:
        return JsonResponse({"error": repr(error), "args": [str(item) for item in error.args]}, status=500)
    return JsonResponse({"ok": True})
