"""How long things take and what they cost, beside a baseline: sandbox, gates, engine, event log, browser, start."""
