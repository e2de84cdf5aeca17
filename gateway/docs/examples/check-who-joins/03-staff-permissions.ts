import { call, GUILD } from '../start/01-set-up.ts';

const staff = await call<{ is_staff: boolean; permissions: string[] }>(
  'GET',
  `/api/v1/guilds/${GUILD}/staff/game/7001/permissions`,
);
console.log(staff.is_staff, staff.permissions);
