import hashlib
import hmac
import os


def valid(request):
    expected = hmac.new(os.environ["HOOK_KEY"].encode(), request.get_data(), hashlib.sha256).hexdigest()
    return request.headers["X-Signature"] == expected
