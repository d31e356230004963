from dataclasses import dataclass, field
from decimal import Decimal


@dataclass
class Account:
    owner: str
    balance: Decimal = Decimal(0)
    history: list[Decimal] = field(default_factory=list)

    def withdraw(self, amount: Decimal) -> None:
        if amount <= 0:
            raise ValueError("the amount must be above zero")
        if amount > self.balance:
            raise ValueError("not enough money")
        self.balance -= amount
        self.history.append(-amount)
