"""What measures the product, above all other rooms: nothing of the product imports it.

`python -m measure [NAME…] [--json]` measures against baselines that are taken in the same run; `commands` has what
`aiswe bench` does.
"""
