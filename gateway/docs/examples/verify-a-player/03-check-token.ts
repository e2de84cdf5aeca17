import { call } from '../start/01-set-up.ts';
import { created } from './01-create-token.ts';

const token = await call<{ status: string }>('GET', `/api/v1/verification/tokens/${created.token}`);
console.log(token.status);
