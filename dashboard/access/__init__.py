"""Who may reach what: sign-ins and tokens, the address and origin of a request, and the rows a person may see."""
