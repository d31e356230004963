from cryptography.hazmat.primitives.asymmetric import rsa


def key_pair():
    private = rsa.generate_private_key(public_exponent=65537, key_size=3072)
    return private, private.public_key()
