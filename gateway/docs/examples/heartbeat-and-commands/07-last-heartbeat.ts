import { heartbeat } from './02-heartbeat.ts';

await heartbeat(true);
