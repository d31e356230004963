"""Sets of data with known answers, each in a folder of its own, and what the product makes of them (`check.py`)."""
