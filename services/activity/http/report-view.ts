import { unixSeconds } from '#kit/clock.ts';
import type { IntervalTotals, StaffReport } from '../domain/staff-report.ts';

/** Returns what a staff member did, by day or week. */
export function reportedStaffView({ gameId, intervals }: StaffReport['staff'][number]) {
  return { game_id: gameId, intervals: intervals.map(intervalView) };
}

function intervalView(totals: IntervalTotals) {
  return {
    start: unixSeconds(totals.start),
    end: unixSeconds(totals.end),
    sessions: totals.sessions,
    seconds: totals.seconds,
    idle_seconds: totals.idleSeconds,
    actions: Object.fromEntries(totals.actions),
    other_actions: totals.otherActions,
  };
}
