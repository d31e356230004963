"""Values as people give and read them: hours of the day, numbers, money, durations."""
