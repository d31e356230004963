import { Pool } from 'pg';

const pool = new Pool();

export async function order(id: number): Promise<unknown> {
  const { rows } = await pool.query('SELECT id, total FROM orders WHERE id = $1', [id]);
  return rows[0];
}
