from django.shortcuts import render


def dashboard(request):
    user = request.COOKIES.get("user_id")
    request.session["user_id"] = user
    return render(request, "dashboard.html", {"orders": orders_of(user)})
