import { Pool } from 'pg';
import type { Request, Response } from 'express';

const pool = new Pool();

export async function order(req: Request, res: Response): Promise<void> {
  const { rows } = await pool.query(`SELECT id, total FROM orders WHERE id = ${req.params.id}`);
  res.json(rows[0]);
}
