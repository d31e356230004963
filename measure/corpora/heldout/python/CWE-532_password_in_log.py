import logging

logger = logging.getLogger(__name__)


def sign_in(request):
    username = request.POST["username"]
    password = request.POST["password"]
    logger.debug("sign in: %s / %s", username, password)
    return check(username, password)
