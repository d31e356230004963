const PINS = 10;
const FRAMES = 10;

const isStrike = (rolls, at) => rolls[at] === PINS;

const isSpare = (rolls, at) => rolls[at] + rolls[at + 1] === PINS;

export function frames(rolls) {
  const found = [];
  let at = 0;
  while (found.length < FRAMES && at < rolls.length) {
    const width = isStrike(rolls, at) ? 1 : 2;
    const counted = isStrike(rolls, at) || isSpare(rolls, at) ? 3 : 2;
    found.push(rolls.slice(at, at + counted));
    at += width;
  }
  return found;
}

export function score(rolls) {
  return frames(rolls)
    .flat()
    .reduce((all, pins) => all + pins, 0);
}
