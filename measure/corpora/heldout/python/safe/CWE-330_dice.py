import random


def roll(sides: int = 6) -> int:
    """A roll in the game; nothing hangs on it but fun."""
    return random.randint(1, sides)
