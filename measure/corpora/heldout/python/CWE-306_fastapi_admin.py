from fastapi import FastAPI

from .store import accounts

app = FastAPI()


@app.post("/admin/accounts/{account_id}/balance")
def set_balance(account_id: int, amount: float):
    accounts[account_id].balance = amount
    return accounts[account_id]
