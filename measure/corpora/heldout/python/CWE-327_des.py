from Crypto.Cipher import DES


def encrypt_card(key, number):
    return DES.new(key, DES.MODE_ECB).encrypt(number.encode().ljust(24))
