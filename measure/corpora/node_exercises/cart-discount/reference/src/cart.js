const RATE = 0.1;

/** The price of one line. */
export function lineTotal(line) {
  return line.price * line.amount;
}

/** The price of all lines; more than ten pieces get a discount. */
export function total(lines) {
  const sum = lines.reduce((all, line) => all + lineTotal(line), 0);
  const pieces = lines.reduce((all, line) => all + line.amount, 0);
  return pieces > 10 ? sum * (1 - RATE) : sum;
}

export const isEmpty = (lines) => lines.length === 0;
