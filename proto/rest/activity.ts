import { commandRows } from './activity/commands.ts';
import { serverReadRows } from './activity/server-reads.ts';
import { serverRows } from './activity/servers.ts';
import { staffRows } from './activity/staff.ts';
import { staffReadRows } from './activity/staff-reads.ts';
import { staffReportRows } from './activity/staff-report.ts';
import { defineRoutes } from './route.ts';

export const activityRoutes = defineRoutes('activity', {
  ...staffRows,
  ...serverRows,
  ...staffReadRows,
  ...staffReportRows,
  ...serverReadRows,
  ...commandRows,
});
