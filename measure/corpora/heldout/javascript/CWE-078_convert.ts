import { execSync } from 'node:child_process';
import type { Request, Response } from 'express';

export function thumbnail(req: Request, res: Response): void {
  execSync(`convert ${req.body.file} -resize 100x100 out.png`);
  res.sendStatus(204);
}
