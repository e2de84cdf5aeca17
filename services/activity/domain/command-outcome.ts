import type { COMMAND_SERVER_STATES, COMMAND_STATES } from '#proto/rest/activity/records.ts';
import type { CommandRecord, ServerRecord } from '../store/command-records.ts';

export type CommandState = (typeof COMMAND_STATES)[number];
export type CommandServerState = (typeof COMMAND_SERVER_STATES)[number];

/** The number of game servers by what became of a command on them. */
export interface CommandOutcome {
  /** The servers that the command is for. */
  servers: number;
  delivered: number;
  succeeded: number;
  failed: number;
  rejected: number;
  expired: number;
  cancelled: number;
}

/** Returns the outcome of a command at the time `now`, in Unix milliseconds. */
export function outcomeOf(command: CommandRecord, now: number): CommandOutcome {
  const counts = command.delivered === null ? namedServerCounts(command, now) : sharedCounts(command);
  const { servers } = command;
  // The difference must not be negative: a server whose heartbeat was in flight when the command was sent can receive
  // the command without being counted in `servers`.
  const missing = Math.max(0, servers - counts.delivered);
  const isExpired = command.expiresAt.getTime() <= now && command.cancelledAt === null;
  const acknowledged = counts.succeeded + counts.failed + counts.rejected;
  return {
    servers,
    delivered: counts.delivered,
    succeeded: counts.succeeded,
    failed: counts.failed,
    rejected: counts.rejected,
    expired: isExpired ? counts.delivered - acknowledged + missing : counts.unacknowledged,
    cancelled: command.cancelledAt === null ? 0 : missing,
  };
}

function namedServerCounts({ attempt, status, expiresAt }: CommandRecord, now: number) {
  return {
    delivered: attempt > 0 || status !== null ? 1 : 0,
    succeeded: status === 'success' ? 1 : 0,
    failed: status === 'failed' ? 1 : 0,
    rejected: status === 'rejected' ? 1 : 0,
    unacknowledged: attempt > 0 && status === null && expiresAt.getTime() <= now ? 1 : 0,
  };
}

const sharedCounts = ({ delivered, succeeded, failed, rejected, unacknowledged }: CommandRecord) => ({
  delivered: delivered ?? 0,
  succeeded: succeeded ?? 0,
  failed: failed ?? 0,
  rejected: rejected ?? 0,
  unacknowledged: unacknowledged ?? 0,
});

/** Returns whether game servers may still execute a command with this outcome. */
export function commandState({ cancelledAt }: CommandRecord, outcome: CommandOutcome): CommandState {
  if (cancelledAt) return 'cancelled';
  const { servers, succeeded, failed, rejected, expired } = outcome;
  return succeeded + failed + rejected + expired >= servers ? 'finished' : 'open';
}

/** Returns the state of a command on one of its game servers at the time `now`, in Unix milliseconds. */
export function serverState(server: ServerRecord, { cancelledAt }: CommandRecord, now: number): CommandServerState {
  const { status, attempt, expiresAt, leasedUntil } = server;
  if (status) return status;
  if (cancelledAt && attempt === 0) return 'cancelled';
  if (expiresAt.getTime() <= now) return 'expired';
  return leasedUntil && leasedUntil.getTime() > now ? 'leased' : 'queued';
}
