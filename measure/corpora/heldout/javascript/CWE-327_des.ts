import { createCipheriv } from 'node:crypto';

export function encrypt(key: Buffer, text: string): string {
  const cipher = createCipheriv('des-ecb', key, null);
  return cipher.update(text, 'utf8', 'hex') + cipher.final('hex');
}
