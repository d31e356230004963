"""A small CRM: its blueprint as a model would send it, and the code of its fragments."""

import copy
from typing import Any

from agents.fragments.blueprint import ProjectBlueprint, read_blueprint

BLUEPRINT: dict[str, Any] = {
    "name": "crm",
    "title": "Small CRM",
    "summary": "Keeps customers and what their deals are worth",
    "state": [
        {"name": "customers", "type": "list[dict[str, Any]]", "default": "[]"},
        {"name": "rate", "type": "float", "default": "0.19"},
    ],
    "logic": [
        {
            "name": "add_customer",
            "purpose": "Returns the customers with a new one at the end; a name without letters is refused.",
            "parameters": [
                {"name": "customers", "type": "list[dict[str, Any]]"},
                {"name": "name", "type": "str"},
                {"name": "worth", "type": "float"},
            ],
            "returns": "list[dict[str, Any]]",
            "examples": [
                {"call": "add_customer([], 'Ada', 10)", "result": "[{'name': 'Ada', 'worth': 10}]", "raises": ""},
                {"call": "add_customer([], ' ', 1)", "result": "", "raises": "ValueError"},
            ],
        },
        {
            "name": "find_customers",
            "purpose": "Returns the customers whose name contains the words, whatever their case.",
            "parameters": [{"name": "customers", "type": "list[dict[str, Any]]"}, {"name": "words", "type": "str"}],
            "returns": "list[dict[str, Any]]",
            "examples": [
                {"call": "find_customers([{'name': 'Ada'}], 'ad')", "result": "[{'name': 'Ada'}]", "raises": ""}
            ],
        },
        {
            "name": "calculate_tax",
            "purpose": "Returns the tax on an amount that people typed, rounded to cents.",
            "parameters": [{"name": "amount", "type": "str"}, {"name": "rate", "type": "float"}],
            "returns": "float",
            "examples": [{"call": "calculate_tax('100', 0.19)", "result": "19.0", "raises": ""}],
        },
    ],
    "ui": [
        {
            "name": "customers",
            "title": "Customers",
            "purpose": "A search field, numbers at the top, and a table of the customers found.",
            "uses": ["find_customers"],
            "reads": ["customers"],
            "writes": [],
        },
        {
            "name": "new_customer",
            "title": "New customer",
            "purpose": "A form for name and worth that shows the tax and adds the customer.",
            "uses": ["add_customer", "calculate_tax"],
            "reads": ["customers", "rate"],
            "writes": ["customers"],
        },
    ],
    "packages": [],
}

LOGIC = {
    "add_customer": '''def add_customer(customers: list[dict[str, Any]], name: str, worth: float) -> list[dict]:
    """The customers with a new one at the end."""
    if not name.strip():
        raise ValueError("A customer needs a name.")
    return [*customers, {"name": name.strip(), "worth": worth}]
''',
    "find_customers": '''def find_customers(customers: list[dict[str, Any]], words: str) -> list[dict[str, Any]]:
    """The customers whose name contains the words."""
    return [one for one in customers if words.lower() in str(one["name"]).lower()]
''',
    "calculate_tax": '''def calculate_tax(amount: str, rate: float) -> float:
    """The tax on an amount that people typed."""
    return round(float(amount) * rate, 2)
''',
}
BROKEN_TAX = '''def calculate_tax(amount: str, rate: float) -> float:
    """The tax on an amount that people typed."""
    return round(amount * rate, 2)
'''
UI = {
    "customers": '''def render_customers() -> None:
    """The customers that the search finds."""
    customers = st.session_state["customers"]
    first, second = st.columns(2)
    first.metric("Customers", len(customers))
    second.metric("Worth of all deals", f"{sum(one['worth'] for one in customers):,.2f}")
    words = st.text_input("Search", placeholder="Part of a name")
    found = find_customers(customers, words)
    if found:
        st.dataframe(found, hide_index=True)
    else:
        st.info("No customer yet, or none with this name.")
''',
    "new_customer": '''def render_new_customer() -> None:
    """A form that adds a customer."""
    with st.form("new_customer", clear_on_submit=True):
        name = st.text_input("Name")
        worth = st.number_input("Worth of the deal", min_value=0.0, step=100.0)
        sent = st.form_submit_button("Add customer", type="primary")
    if sent:
        try:
            st.session_state["customers"] = add_customer(st.session_state["customers"], name, worth)
        except ValueError as problem:
            st.error(str(problem))
            return
        tax = calculate_tax(str(worth), st.session_state["rate"])
        st.success(f"{name} was added; tax on the deal: {tax:,.2f}")
''',
}


def blueprint(**changes: Any) -> dict[str, Any]:
    """The blueprint as JSON, with other top-level values."""
    return copy.deepcopy(BLUEPRINT) | changes


def whole(**changes: Any) -> ProjectBlueprint:
    """The blueprint as it is read."""
    found, problems = read_blueprint(blueprint(**changes))
    assert found is not None, problems
    return found


def fenced(code: str, words: str = "Here is the function.") -> str:
    """A reply with this code."""
    return f"{words}\n\n```python\n{code}```\n"
