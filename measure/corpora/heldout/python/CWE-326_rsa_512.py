from cryptography.hazmat.primitives.asymmetric import rsa


def session_key_pair():
    private = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    return private, private.public_key()
