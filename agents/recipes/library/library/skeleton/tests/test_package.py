"""The package as its users import it."""

import __PACKAGE__


def test_every_public_name_is_there_and_explained() -> None:
    assert "LibraryError" in __PACKAGE__.__all__
    for name in set(__PACKAGE__.__all__) - {"__version__"}:
        assert getattr(__PACKAGE__, name).__doc__
