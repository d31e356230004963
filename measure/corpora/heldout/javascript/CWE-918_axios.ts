import axios from 'axios';
import type { Request, Response } from 'express';

export async function preview(req: Request, res: Response): Promise<void> {
  const { data } = await axios.get(`http://${req.body.host}/status`);
  res.json(data);
}
