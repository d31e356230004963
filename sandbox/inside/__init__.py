"""The program inside every sandbox, in parts that `sandbox.agent` joins; standard library only."""
