import logging

logger = logging.getLogger("audit")


def search(request):
    logger.info(f"search by {request.user.pk}: {request.GET.get('q')}")
