"""The tags of the markup that pages share."""

from django.template import Context, Template

from dashboard.templatetags.look import May
from tests.texts import shows


def rendered(text: str, **context: object) -> str:
    return Template(text).render(Context(context))


def test_a_fact_escapes_its_value_and_its_name():
    text = rendered("{% fact name 'mono' %}{{ value }}{% endfact %}", name="<i>", value="<b>")
    assert text == '<div><dt>&lt;i&gt;</dt><dd class="mono">&lt;b&gt;</dd></div>'


def test_a_column_of_numbers_is_marked_and_its_name_has_no_mark():
    text = rendered("{% table 'Runs' 'Run' '#Events' %}<tr></tr>{% endtable %}")
    shows(text, '<th scope="col">Run</th><th scope="col" class="num">Events</th>', 'role="region" aria-label="Runs"')


def test_a_button_says_who_may_press_it_only_to_those_who_may_not():
    assert "can" not in rendered("{% submit right 'Push' %}", right=May(True, "Architect"))
    refused = rendered("{% submit right 'Push' %}", right=May(False, "Architect"))
    shows(refused, "disabled", "Architect can")


def test_a_text_before_the_last_place_links_to_the_main_page_of_that_name():
    text = rendered("{% crumbs 'Audit' title %}", title="<x>")
    assert text == '<li><a href="/audit">Audit</a></li><li aria-current="page">&lt;x&gt;</li>'
