import getpass

PASSWORD_PROMPT = "Password: "
TOKEN_HEADER = "X-Api-Token"


def ask() -> str:
    return getpass.getpass(PASSWORD_PROMPT)
