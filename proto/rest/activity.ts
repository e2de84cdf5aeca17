import { commandRows } from './activity/commands.ts';
import { serverRows } from './activity/servers.ts';
import { staffRows } from './activity/staff.ts';
import { defineRoutes } from './route.ts';

export const activityRoutes = defineRoutes('activity', { ...staffRows, ...serverRows, ...commandRows });
