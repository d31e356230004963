"""What differs from one programming language to another, behind one contract."""
