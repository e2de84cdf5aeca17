import type { AuditedChange, EventRecorder, RecordedEvent } from '#kit/events/recorder.ts';
import type { EventSource } from '#kit/events/source.ts';
import type { Transaction } from '#kit/postgres/pool.ts';
import { actionView, commandRecordView, serverView, sessionView } from './http/views.ts';
import type { CommandRecord } from './store/command-records.ts';
import type { ChangedServer } from './store/servers.ts';
import type { Session } from './store/sessions.ts';
import type { Action } from './store/staff.ts';

/** The source of events that no request caused. */
const SYSTEM: EventSource = { kind: 'system', id: 'activity' };

/**
 * The events that activity records: each function returns one for `record`. Heartbeats of several senders are written
 * together, so their events name their source; undefined stands for the system.
 */
export class ActivityEvents {
  readonly #recorder: EventRecorder;

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  /** Records events as the last step of a transaction, in the order given. */
  record(transaction: Transaction, events: readonly (RecordedEvent | AuditedChange)[]): Promise<void> {
    return this.#recorder.record(transaction, events);
  }

  sessionStarted(session: Session): RecordedEvent {
    return { guildId: session.guildId, type: 'session.started', data: sessionView(session) };
  }

  sessionEnded(session: Session): RecordedEvent {
    return { guildId: session.guildId, type: 'session.ended', data: sessionView(session) };
  }

  staffAction(guildId: string, action: Action, loggedAt: Date): RecordedEvent {
    return { guildId, type: 'staff.action', data: actionView(action, loggedAt) };
  }

  serverOnline(server: ChangedServer, source: EventSource = SYSTEM): RecordedEvent {
    return { guildId: server.guildId, type: 'server.online', data: serverView(server), source };
  }

  serverOffline(server: ChangedServer, source: EventSource = SYSTEM): RecordedEvent {
    return { guildId: server.guildId, type: 'server.offline', data: serverView(server), source };
  }

  /** Every server has acknowledged the command, or the command has expired or was cancelled. */
  commandFinished(
    command: CommandRecord & { guildId: string },
    now: Date,
    source: EventSource = SYSTEM,
  ): RecordedEvent {
    return { guildId: command.guildId, type: 'command.finished', data: commandRecordView(command, now), source };
  }
}
