"""A Streamlit app in fragments: a blueprint, proof of each logic fragment, and the files that are made of them."""
