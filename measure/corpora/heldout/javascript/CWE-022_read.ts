import { readFile } from 'node:fs/promises';
import type { Request, Response } from 'express';

export async function show(req: Request, res: Response): Promise<void> {
  const text = await readFile(`./notes/${req.params.note}.txt`, 'utf8');
  res.type('text').send(text);
}
