"""Model replies in the shapes and with the slips that occur, and how many are read as intended."""
