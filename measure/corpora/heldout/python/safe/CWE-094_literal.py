import ast


def read_tuple(text: str) -> tuple[int, ...]:
    value = ast.literal_eval(text)
    if not isinstance(value, tuple):
        raise TypeError("a tuple is needed")
    return value
