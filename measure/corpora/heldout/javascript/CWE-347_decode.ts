import jwt from 'jsonwebtoken';
import type { Request, Response, NextFunction } from 'express';

export function authenticate(req: Request, res: Response, next: NextFunction): void {
  res.locals.user = jwt.decode(req.headers.authorization!.slice(7));
  next();
}
