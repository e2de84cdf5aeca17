import { guild } from '../start/01-set-up.ts';

const staff = await guild.getStaffPermissions({ gameId: 7001 });
console.log(staff.is_staff, staff.permissions);
