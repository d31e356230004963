import { execFile } from 'node:child_process';
import { isIP } from 'node:net';
import type { Request, Response } from 'express';

export function ping(req: Request, res: Response): void {
  const host = String(req.query.host);
  if (!isIP(host)) {
    res.sendStatus(400);
    return;
  }
  execFile('/usr/bin/ping', ['-c', '1', host], (error, stdout) => res.type('text').send(stdout));
}
