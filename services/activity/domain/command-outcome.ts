import type { CommandRecord } from '../store/command-records.ts';

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
  const isOver = command.expiresAt.getTime() <= now;
  return {
    servers,
    delivered: counts.delivered,
    succeeded: counts.succeeded,
    failed: counts.failed,
    rejected: counts.rejected,
    expired: counts.unacknowledged + (isOver && command.cancelledAt === null ? missing : 0),
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
export function commandState(
  { cancelledAt }: CommandRecord,
  outcome: CommandOutcome,
): 'open' | 'finished' | 'cancelled' {
  if (cancelledAt) return 'cancelled';
  const { servers, succeeded, failed, rejected, expired } = outcome;
  return succeeded + failed + rejected + expired >= servers ? 'finished' : 'open';
}
