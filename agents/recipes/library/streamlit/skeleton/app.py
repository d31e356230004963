"""__NAME__: the pages of the app."""

from __future__ import annotations

import streamlit as st

from state import init_state


def main() -> None:
    """Draw the app."""
    st.set_page_config(page_title="__NAME__", layout="wide")
    init_state(st.session_state)
    st.title("__NAME__")


if __name__ == "__main__":
    main()
