"""Sandboxes that stand ready."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sandbox.base import Backend, PackageSet, SandboxLimits, SandboxUnavailable
from sandbox.pool import Fitted, ReadyPool
from tests.sandbox.conftest import SMALL
from tests.sandbox.fake_backend import FakeBackend, FakeSandbox
from tests.waiting import eventually


class Warming(FakeBackend):
    """Sandboxes that know whether their tools were loaded."""

    def open(self, **options: Any) -> FakeSandbox:
        made = super().open(**options)
        made.warm_up = lambda: setattr(made, "warm", True)  # type: ignore[attr-defined]
        made.asked = options  # type: ignore[attr-defined]
        return made


def test_the_second_task_gets_what_was_made_ready_for_it() -> None:
    backend = Warming()
    with ReadyPool(backend) as pool:
        first = pool.open(label="T-01")
        assert eventually(lambda: pool.standing() == 1)
        second = pool.open(label="T-02")
        assert second is not first
        assert second is backend.opened[1]
        assert getattr(second, "warm", False)


def test_none_is_ever_handed_over_twice() -> None:
    backend, got, lock = Warming(), [], threading.Lock()
    with ReadyPool(backend, size=2) as pool:

        def task() -> None:
            for _ in range(20):
                with pool.open() as box, lock:
                    got.append(box)

        threads = [threading.Thread(target=task) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(got) == 80
    assert len({id(box) for box in got}) == 80
    assert eventually(lambda: all(box.closed for box in backend.opened))


def test_at_the_end_what_is_just_being_made_ready_is_closed_too() -> None:
    begun, closing = threading.Event(), threading.Event()

    class Slow(Warming):
        def open(self, **options: Any) -> FakeSandbox:
            begun.set()
            closing.wait(30)
            return super().open(**options)

    backend = Slow()
    pool = ReadyPool(backend)
    pool.prepare()
    assert begun.wait(30)
    threading.Timer(0.1, closing.set).start()
    pool.close()
    assert eventually(lambda: [box.closed for box in backend.opened] == [True])


def test_at_the_end_all_that_nobody_took_is_closed() -> None:
    backend = Warming()
    pool = ReadyPool(backend, size=2)
    taken = pool.open()
    assert eventually(lambda: pool.standing() == 2)
    pool.close()
    pool.close()
    assert [box.closed for box in backend.opened] == [False, True, True]
    assert isinstance(taken, FakeSandbox)
    assert pool.open() is backend.opened[-1]  # and it still opens, cold
    assert pool.standing() == 0


def test_one_that_stood_too_long_is_closed_and_not_replaced_until_asked() -> None:
    backend = Warming()
    with ReadyPool(backend, max_age=0.05) as pool:
        pool.prepare()
        assert eventually(lambda: pool.standing() == 1)
        time.sleep(0.06)
        pool.tend()
        assert pool.standing() == 0
        assert backend.opened[0].closed
        time.sleep(0.05)
        assert len(backend.opened) == 1


def test_one_that_died_meanwhile_is_not_handed_over() -> None:
    backend = Warming()
    with ReadyPool(backend) as pool:
        pool.prepare()
        assert eventually(lambda: pool.standing() == 1)
        backend.opened[0].answers = lambda seconds: False  # type: ignore[attr-defined]
        assert pool.open() is not backend.opened[0]
        assert backend.opened[0].closed


def test_packages_and_limits_make_a_kind_of_their_own(tmp_path: Path) -> None:
    backend = Warming()
    packages = PackageSet(tmp_path, ("idna",))
    with ReadyPool(backend) as pool:
        pool.open()
        pool.open(packages=packages)
        assert eventually(lambda: pool.standing() == 2)
        count = len(backend.opened)
        assert pool.open(packages=packages).asked["packages"] is packages  # type: ignore[attr-defined]
        assert pool.open().asked["packages"] is None  # type: ignore[attr-defined]
        assert eventually(lambda: len(backend.opened) == count + 2)
        assert eventually(lambda: pool.standing() == 2)
        pool.open(limits=SandboxLimits(memory_mb=64))  # a third kind: the one not used for longest goes
        assert eventually(lambda: pool.standing() == 2)
        assert sum(not box.closed for box in backend.opened) == 7


def test_an_engine_that_went_away_is_the_next_tasks_to_hear() -> None:
    class Gone(FakeBackend):
        def open(self, **options: Any) -> FakeSandbox:
            raise SandboxUnavailable("no engine answers")

    with ReadyPool(Gone()) as pool:
        pool.prepare()
        for _ in range(2):
            with pytest.raises(SandboxUnavailable, match="no engine"):
                pool.open()
        assert pool.standing() == 0


def test_a_projects_limits_hold_where_nobody_names_others() -> None:
    backend = Warming()
    fitted = Fitted(backend, SandboxLimits(memory_mb=99))
    fitted.open()
    fitted.open(limits=SandboxLimits(memory_mb=7))
    assert [box.asked["limits"].memory_mb for box in backend.opened] == [99, 7]  # type: ignore[attr-defined]
    assert fitted.name == "fake"


def test_a_real_one_from_the_pool_is_empty_and_works(backend: Backend) -> None:
    with ReadyPool(backend) as pool:
        pool.prepare(SMALL)
        assert eventually(lambda: pool.standing() == 1)
        with pool.open(limits=SMALL) as first:
            first.put({"secret": b"1"})
            first.exec(["sh", "-c", "echo 1 > /tmp/secret"])
            assert eventually(lambda: pool.standing() == 1)
        with pool.open(limits=SMALL) as second:
            # Where the product itself lies below /tmp, the way to its Python is there too, as empty folders.
            assert second.exec(["ls", "-A", "/workspace"]).out == ""
            assert "secret" not in second.exec(["ls", "-A", "/tmp"]).out.split()
