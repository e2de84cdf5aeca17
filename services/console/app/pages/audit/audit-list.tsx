import { type ConsoleData, consoleCall } from '../../api/console.ts';
import { usePages } from '../../api/use-pages.ts';
import { PersonName } from '../../components/person.tsx';
import { Card, EmptyState } from '../../components/states.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { auditTexts as texts } from '../../texts.ts';

type Entry = ConsoleData<'listAudit'>['entries'][number];

const COLUMNS: readonly Column<Entry>[] = [
  { name: 'time', heading: texts.time, width: '150px', cell: ({ at }) => <Time at={at} /> },
  { name: 'who', heading: texts.who, width: '220px', cell: (entry) => <Who entry={entry} /> },
  { name: 'what', heading: texts.what, kind: 'title', cell: ({ action }) => <What action={action} /> },
  { name: 'details', heading: texts.details, cell: (entry) => <Details entry={entry} /> },
];

/** All changes, the newest first. */
export function AuditList() {
  const guild = useGuild();
  const list = usePages(async (cursor, signal) => {
    const query = cursor === undefined ? {} : { cursor };
    const page = await consoleCall('listAudit', { params: { guildId: guild.id }, query }, signal);
    return { rows: page.entries, next: page.next_cursor };
  }, []);
  return (
    <Card isFlush>
      <Table
        label={texts.tabs.audit}
        columns={COLUMNS}
        list={list}
        rowKey={({ sequence }) => sequence}
        empty={
          <EmptyState icon="audit" title={texts.emptyTitle}>
            {texts.empty}
          </EmptyState>
        }
      />
    </Card>
  );
}

function What({ action }: { action: string }) {
  return <strong title={action}>{texts.actions[action] ?? action}</strong>;
}

function Who({ entry: { actor, details } }: { entry: Entry }) {
  const person = details?.['person'];
  if (typeof person === 'object' && person !== null && 'id' in person && typeof person.id === 'string') {
    if (/^[0-9]+$/.test(person.id)) return <PersonName chatId={person.id} />;
    return <span title={person.id}>{person.id.startsWith('link:') ? texts.link : person.id}</span>;
  }
  const key = /^key (.+)$/.exec(actor)?.[1];
  return <>{key === undefined ? texts.operator(actor) : texts.key(key)}</>;
}

function Details({ entry: { details } }: { entry: Entry }) {
  if (details === null) return <span class="hint">{texts.erased}</span>;
  const { before, after, address, request_id, person: _, ...others } = details;
  const parts = [
    [texts.before, before],
    [texts.after, after],
    ['', Object.keys(others).length === 0 ? undefined : others],
  ] as const;
  return (
    <details class="more audit-details">
      <summary>{texts.show}</summary>
      {parts.map(
        ([heading, value]) =>
          value !== undefined &&
          value !== null && (
            <div key={heading}>
              {heading !== '' && <p class="hint">{heading}</p>}
              <pre class="json">{JSON.stringify(value, null, 2)}</pre>
            </div>
          ),
      )}
      {typeof address === 'string' && <p class="hint">{texts.from(address)}</p>}
      {typeof request_id === 'string' && (
        <p class="hint">
          {texts.request} <code>{request_id}</code>
        </p>
      )}
    </details>
  );
}
