const SIGNS = [
  [1000, "M"],
  [900, "CM"],
  [500, "D"],
  [400, "CD"],
  [100, "C"],
  [90, "XC"],
  [50, "L"],
  [40, "XL"],
  [10, "X"],
  [9, "IX"],
  [5, "V"],
  [4, "IV"],
  [1, "I"],
];

function toRoman(number) {
  let rest = number;
  let text = "";
  for (const [value, sign] of SIGNS) {
    while (rest >= value) {
      text += sign;
      rest -= value;
    }
  }
  return text;
}

function fromRoman(text) {
  let left = text;
  let number = 0;
  for (const [value, sign] of SIGNS) {
    while (left.startsWith(sign)) {
      number += value;
      left = left.slice(sign.length);
    }
  }
  return left ? NaN : number;
}

module.exports = { toRoman, fromRoman };
