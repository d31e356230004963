import pytest
from django.contrib.auth import get_user_model

from projects.errors import BadInput, NotAllowed
from projects.services.accounts.users import create_first_admin, needs_first_admin
from tests.factories import PASSWORD
from tests.projects.threads import at_once

pytestmark = pytest.mark.django_db


def test_the_first_account_administers_and_there_is_no_second_first():
    assert needs_first_admin()
    user = create_first_admin(" ada ", PASSWORD, "ada@example.org")
    assert (user.username, user.is_superuser, user.is_staff, user.check_password(PASSWORD)) == ("ada", True, True, True)
    assert not needs_first_admin()
    with pytest.raises(NotAllowed, match="already"):
        create_first_admin("eve", PASSWORD)


@pytest.mark.django_db(transaction=True)
def test_of_many_first_accounts_at_once_one_is_made():
    results = at_once([lambda n=n: create_first_admin(f"user{n}", PASSWORD).username for n in range(8)])
    assert sum(isinstance(result, str) for result in results) == 1
    assert get_user_model().objects.count() == 1


def test_users_who_cannot_sign_in_are_no_first_account():
    get_user_model().objects.create_user("operator")
    assert needs_first_admin()
    with pytest.raises(BadInput, match="already exists"):
        create_first_admin("operator", PASSWORD)
    assert create_first_admin("ada", PASSWORD).is_superuser
    assert not needs_first_admin()


@pytest.mark.parametrize(
    ("name", "password", "email"),
    [
        ("", PASSWORD, ""),
        ("a b\n", PASSWORD, ""),
        ("ada", "short", ""),
        ("ada", "12345678", ""),
        ("ada", PASSWORD, "x"),
    ],
)
def test_a_name_or_password_that_cannot_be_used_is_refused(name, password, email):
    with pytest.raises(BadInput):
        create_first_admin(name, password, email)
    assert needs_first_admin()
