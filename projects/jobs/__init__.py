"""Jobs: thin. Each loads by id, takes a lease, runs the engine, and writes what came of it through the services.

The queue only wakes workers up; what is to be done is in the database (the sweep finds a lost job). The names that jobs
are registered by are those of messages that wait in a broker: they stay when a job moves.
"""
