from django.http import HttpResponse


def remember(request):
    response = HttpResponse("ok")
    response.set_cookie("auth_token", issue_token(request.user), max_age=30 * 24 * 3600)
    return response
