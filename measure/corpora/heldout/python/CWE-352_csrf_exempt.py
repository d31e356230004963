from django.http import HttpResponse
from django.views.decorators.csrf import csrf_exempt


@csrf_exempt
def transfer(request):
    move_money(request.user, request.POST["to"], request.POST["amount"])
    return HttpResponse("done")
