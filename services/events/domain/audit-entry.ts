import type { EventSource } from '#kit/events/source.ts';
import { truncated } from '#kit/events/truncate.ts';
import { isAudited } from '#proto/rest/events/audit.ts';
import type { OwnEvent, RecordedEvent } from './log-event.ts';

/** A change by a key or a person, for the audit. */
export interface AuditEntry {
  guildId: string;
  id: string;
  /** The event type, or the name of a change without an event. */
  action: string;
  service: string;
  createdAtMs: number;
  source: EventSource;
  persons: string[];
  /** The record before and after the change, as JSON. */
  before?: string | undefined;
  after?: string | undefined;
}

/** The maximum size of each of the two records; with both an entry is smaller than those of operators can be. */
const MAX_RECORD_BYTES = 4_000;
const CHAT_ID = /^[0-9]{1,20}$/;

/** Returns the entries of those events that belong into the audit, in their order. */
export const auditEntriesOf = (
  service: string,
  events: readonly (Pick<RecordedEvent, 'guildId'> & OwnEvent)[],
): AuditEntry[] =>
  events
    .filter(({ type, source }) => isAudited(type, source))
    .map(({ guildId, id, type, createdAtMs, source, persons, data, before }) => ({
      guildId,
      id,
      action: type,
      service,
      createdAtMs,
      source,
      persons: [...new Set([...persons, ...personIn(source)])],
      // The data of a removal is the record that was removed.
      before: isRemoval(type) ? cut(before ?? data) : before && cut(before),
      after: isRemoval(type) ? undefined : cut(data),
    }));

const isRemoval = (type: string) => type.endsWith('.removed') || type.endsWith('.deleted');

/** The mark with which an erasure finds the person who made a change. */
const personIn = ({ kind, id }: EventSource) => (kind === 'console' && CHAT_ID.test(id) ? [`chat:${id}`] : []);

const cut = (record: string) => JSON.stringify(truncated(JSON.parse(record) as object, MAX_RECORD_BYTES));
