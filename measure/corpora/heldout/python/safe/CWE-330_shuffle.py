import random


def quiz(questions: list[str], seed: int) -> list[str]:
    order = list(questions)
    random.Random(seed).shuffle(order)
    return order
