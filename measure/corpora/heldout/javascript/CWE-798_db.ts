import { createConnection } from 'mysql2';

export const connection = createConnection({ host: 'db.example.com', user: 'app', password: 'hunter2-prod' });
