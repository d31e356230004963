"""A part of a file put into the file: definitions of the same name are replaced, new ones added.

All else stays byte for byte. What is not clear is refused: overloads in another number, a function that the file
defines under a condition, other code outside of definitions. The rules are here; a language says what statements are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from agents.languages.definitions import CannotMerge

Name = tuple[str, str, str]  # name, kind, role
Key = tuple[str, str, str, int]  # with the ordinal among statements of the same name
Statement = TypeVar("Statement")


@dataclass
class Body(Generic[Statement]):
    """The statements of a file, a class or a suite; `keyed` gives them by what they define."""

    statements: list[Statement]
    keyed: dict[Key, Statement]


Whole = TypeVar("Whole", bound=Body[Any])


def by_key(statements: Iterable[Statement], names: Callable[[Statement], Iterable[Name]]) -> dict[Key, Statement]:
    """Statements by the names they define; a statement may have several."""
    counts: Counter[Name] = Counter()
    found: dict[Key, Statement] = {}
    for statement in statements:
        for one in names(statement):
            found[*one, counts[one]] = statement
            counts[one] += 1
    return found


class Merger(ABC, Generic[Whole, Statement]):
    """Merges a body into another one. `inside` is always the class or suite around both, with a dot; "" for none."""

    assigned = "assigned"  # what is done to several names in one statement

    @abstractmethod
    def names(self, statement: Statement) -> Iterable[Name]:
        """What a statement defines."""

    @abstractmethod
    def start(self, statement: Statement) -> int:
        """Where it begins; statements of one body are in this order."""

    @abstractmethod
    def needed_at_once(self, statement: Statement) -> set[str]:
        """Names that it reads when it is run; the body of a function runs later."""

    @abstractmethod
    def signature(self, statement: Statement) -> list[str]:
        """Arguments and result of a function, in parts that can be compared."""

    @abstractmethod
    def conditional(self, body: Whole) -> set[str]:
        """Names that are defined under a condition."""

    @abstractmethod
    def to_merge(self, body: Whole, inside: str) -> list[Statement]:
        """What is merged one by one: not imports, and not what each file has of its own."""

    @abstractmethod
    def equivalent(self, statement: Statement, old: Whole) -> Statement | None:
        """What stands in the old body for a statement that defines nothing; None for a new one. Raises CannotMerge."""

    @abstractmethod
    def last_place(self, old: Whole, statement: Statement) -> Statement | None:
        """The statement after which a new one stands when the part speaks of no other."""

    def below(self, old: Whole, place: Statement, statement: Statement, inside: str) -> Statement:
        """The statement after which a new one stands that follows `place` in the part."""
        return place

    @abstractmethod
    def put_before(self, old: Whole, new: Whole, near: Statement, statement: Statement, inside: str) -> None:
        """Insert a new statement before one of the old body."""

    @abstractmethod
    def put_after(self, old: Whole, new: Whole, near: Statement, statement: Statement, inside: str) -> None:
        """Insert a new statement after one of the old body."""

    @abstractmethod
    def replace(self, old: Whole, new: Whole, was: Statement, statement: Statement, inside: str) -> None:
        """Put a statement in the place of its counterpart, or merge their members. Raises CannotMerge."""

    def merge(self, old: Whole, new: Whole, inside: str) -> None:
        """Put the statements of `new` among those of `old`. Raises CannotMerge."""
        self.check(old, new, inside)
        place: Statement | None = None  # the last statement of the old body that the part speaks of
        waiting: list[Statement] = []  # new statements before the first such
        done: set[int] = set()
        matches = [(one, self.counterpart(one, old, new)) for one in self.to_merge(new, inside)]
        for statement, match in matches:
            if match is not None:
                if id(match) not in done:
                    done.add(id(match))
                    self.replace(old, new, match, statement, inside)
                for one in waiting:
                    self.put_before(old, new, match, one, inside)
                place, waiting = match, []
                continue
            user = self._first_user(statement, matches)
            if user is not None and (place is None or self.start(user) <= self.start(place)):
                self.put_before(old, new, user, statement, inside)
            elif place is None:
                waiting.append(statement)
            else:
                self.put_after(old, new, self.below(old, place, statement, inside), statement, inside)
        for one in waiting:
            end = self.last_place(old, one)
            if end is None:
                raise CannotMerge("the file holds nothing beside which its definitions could stand")
            self.put_after(old, new, end, one, inside)

    def _first_user(
        self, statement: Statement, matches: Sequence[tuple[Statement, Statement | None]]
    ) -> Statement | None:
        """The first of the old statements whose new text needs this one when it is run."""
        names = {name for name, _, _ in self.names(statement)}
        users = [one for other, one in matches if one is not None and names & self.needed_at_once(other)]
        return min(users, key=self.start, default=None)

    def counterpart(self, statement: Statement, old: Whole, new: Whole) -> Statement | None:
        """The statement of the old body that this one stands for; None for a new one. Raises CannotMerge."""
        keys = [key for key, one in new.keyed.items() if one is statement]
        if not keys:
            return self.equivalent(statement, old)
        found = {id(old.keyed[key]): old.keyed[key] for key in keys if key in old.keyed}
        if len(found) > 1 or (found and any(key not in old.keyed for key in keys)):
            raise CannotMerge(f"{keys[0][0]} and others are {self.assigned} together")
        return next(iter(found.values()), None)

    def check(self, old: Whole, new: Whole, inside: str) -> None:
        """Raise CannotMerge where the part may mean more than one thing."""
        conditional = self.conditional(old)
        for one in dict.fromkeys(key[:3] for key in new.keyed):
            if one[0] in conditional:
                raise CannotMerge(f"{inside}{one[0]} is defined under a condition in the file")
            self._check_name(one, old, new, inside)

    def _check_name(self, one: Name, old: Whole, new: Whole, inside: str) -> None:
        full, there = f"{inside}{one[0]}", any(key[0] == one[0] for key in old.keyed)
        in_file, in_part = (sum(key[:3] == one for key in body.keyed) for body in (old, new))
        if in_file and in_file != in_part:
            raise CannotMerge(f"{full} is defined {in_file} times in the file and {in_part} times in the block")
        if not in_file and not one[2] and there:
            raise CannotMerge(f"{full} is not a {one[1]} in the file")
        in_file, in_part = (sum(key[0] == one[0] and key[2] == "overload" for key in body.keyed) for body in (old, new))
        if in_file == in_part or not there:
            return
        signatures = [
            self.signature(body.keyed[key]) for body in (old, new) if (key := (one[0], "function", "", 0)) in body.keyed
        ]
        # What is overloaded has the signature that the overloads were written for.
        if in_part or len(signatures) != 2 or signatures[0] != signatures[1]:
            raise CannotMerge(f"{full} has {in_file} overloads in the file and {in_part} in the block")
