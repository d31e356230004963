"""What a failing tool printed, read: which error, where, in which test."""

from agents.repair.traces.base import Frame, Problem
from agents.repair.traces.read import read_problems

__all__ = ["Frame", "Problem", "read_problems"]
