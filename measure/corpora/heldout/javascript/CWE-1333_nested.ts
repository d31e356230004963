const WORDS = /^(\w+\s?)+$/;

export const isTitle = (text: string): boolean => WORDS.test(text);
