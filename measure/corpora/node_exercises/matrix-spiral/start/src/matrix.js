export function transpose(rows) {
  return rows.length ? rows[0].map((_, at) => rows.map((row) => row[at])) : [];
}

export function spiral(rows) {
  const rest = rows.map((row) => [...row]);
  const found = [];
  while (rest.length) {
    found.push(...rest.shift());
    for (const row of rest) {
      if (row.length) {
        found.push(row.pop());
      }
    }
    found.push(...(rest.pop() ?? []).reverse());
    for (const row of rest) {
      if (row.length) {
        found.push(row.shift());
      }
    }
  }
  return found;
}

export function sum(rows) {
  return rows.flat().reduce((all, one) => all + one, 0);
}
