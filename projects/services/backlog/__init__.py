"""Tickets that the agents work on by themselves: their order, their hours, and what a night may take."""
