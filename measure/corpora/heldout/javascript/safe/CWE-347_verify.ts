import jwt from 'jsonwebtoken';

export function read(token: string): string | jwt.JwtPayload {
  return jwt.verify(token, process.env.JWT_PUBLIC_KEY!, { algorithms: ['RS256'] });
}
