export interface Money {
  readonly amount: number;
  readonly currency: string;
}

export type Rate = (from: string, to: string) => number;

export function money(amount: number, currency = "EUR"): Money {
  return { amount, currency };
}

export function add(one: Money, other: Money): Money {
  return money(one.amount + other.amount, one.currency);
}

export const convert = (one: Money, to: string, rate: Rate): Money => money(one.amount * rate(one.currency, to), to);
