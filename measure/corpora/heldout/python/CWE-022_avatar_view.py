from pathlib import Path

from django.http import Http404, HttpResponse

AVATARS = Path("/var/lib/app/avatars")


def avatar(request, user_id):
    variant = request.GET.get("variant", "small.png")
    picture = AVATARS / str(user_id) / variant
    if not picture.exists():
        raise Http404
    return HttpResponse(picture.read_bytes(), content_type="image/png")
