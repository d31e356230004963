"""Samples of a first version: run side by side, told apart by their behaviour, one selected."""
