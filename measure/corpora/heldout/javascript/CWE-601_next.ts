import type { Request, Response } from 'express';

export function afterLogin(req: Request, res: Response): void {
  const next = String(req.query.next ?? '/');
  res.redirect(302, next);
}
