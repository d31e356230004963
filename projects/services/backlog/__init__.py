"""Tickets that the agents work on by themselves: their order, their hours, and the caps of a night."""
