from pathlib import Path

from django.http import Http404, HttpResponse

AVATARS = Path("/var/lib/app/avatars").resolve()


def avatar(request, user_id):
    picture = (AVATARS / str(user_id) / request.GET.get("variant", "small.png")).resolve()
    if not picture.is_relative_to(AVATARS) or not picture.is_file():
        raise Http404
    return HttpResponse(picture.read_bytes(), content_type="image/png")
