from Crypto.Cipher import AES
from Crypto.Util.Padding import pad

IV = b"0000000000000000"


def seal(key, message):
    return AES.new(key, AES.MODE_CBC, IV).encrypt(pad(message, 16))
