from django.shortcuts import redirect


def done(request):
    return redirect("order-list")
