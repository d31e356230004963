import logging

from flask import request

log = logging.getLogger(__name__)


def failed_login():
    log.warning("login failed for " + request.form["user"])
