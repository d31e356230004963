"""House patterns come from the project and from files that the operator lays down."""

from projects.services.planning.patterns import rules_of, with_patterns
from projects.services.planning.projects import MAX_RULES


class Shop:
    source = ""
    slug, house_rules = "shop", "Use Decimal."


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return folder


def test_files_for_all_come_before_those_for_the_project_and_others_do_not_count(settings, tmp_path):
    settings.AISWE_HOME = tmp_path
    write(tmp_path / "patterns", b="All: errors have names.", a="All: no globals.")
    write(tmp_path / "patterns" / "shop", money="Shop: cents are integers.")
    write(tmp_path / "patterns" / "bank", other="Bank only.")
    (tmp_path / "patterns" / "notes.txt").write_text("no Markdown")
    assert rules_of(Shop()) == (
        "Use Decimal.\n\nAll: no globals.\n\nAll: errors have names.\n\nShop: cents are integers."
    )


def test_without_files_the_rules_are_the_projects_own(settings, tmp_path):
    settings.AISWE_HOME = tmp_path
    assert rules_of(Shop()) == "Use Decimal."


def test_a_file_that_does_not_fit_is_named_and_the_others_stay(tmp_path):
    folder = write(tmp_path / "p", big="x" * MAX_RULES, small="Short.", huge="y" * (5 * MAX_RULES))
    assert (
        with_patterns("Rule.", [folder]) == "Rule.\n\nShort.\n\n(Not shown, too long or not readable: big.md, huge.md)"
    )


def test_a_link_is_nobodys_rule(tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("token")
    folder = write(tmp_path / "p", a="A.")
    (folder / "b.md").symlink_to(secret)
    (tmp_path / "linked").symlink_to(folder)
    assert with_patterns("", [folder, tmp_path / "linked"]) == "A."
