import { listSessions } from '#clients/typescript/src/operations.ts';
import type { StaffSession } from '#clients/typescript/src/operations-types.ts';
import { usePages } from '../../api/use-pages.ts';
import { Select } from '../../components/field.tsx';
import { PersonName } from '../../components/person.tsx';
import { Badge, Card, EmptyState } from '../../components/states.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { durationText, Time } from '../../components/time.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useGuild } from '../../shell/guild.tsx';
import { staffTexts as texts } from '../../texts.ts';
import { PersonFilter, personArgument } from './person-filter.tsx';

const COLUMNS: readonly Column<StaffSession>[] = [
  {
    name: 'person',
    heading: texts.person,
    kind: 'title',
    cell: ({ game_id, game_username }) => <PersonName gameId={game_id} name={game_username} />,
  },
  { name: 'started', heading: texts.started, cell: ({ started_at }) => <Time at={started_at} /> },
  {
    name: 'ended',
    heading: texts.ended,
    cell: ({ ended_at }) => (ended_at === null ? <Badge kind="good">{texts.onDuty}</Badge> : <Time at={ended_at} />),
  },
  {
    name: 'duration',
    heading: texts.duration,
    cell: ({ started_at, ended_at }) => durationText((ended_at ?? Date.now() / 1_000) - started_at),
  },
  {
    name: 'idle',
    heading: texts.idle,
    cell: ({ idle_seconds }) => (idle_seconds === 0 ? texts.none : durationText(idle_seconds)),
  },
];

/** The sessions of staff, the newest first. */
export function SessionsView() {
  const guild = useGuild();
  const [{ person, state }, setFilters] = useFilters(['person', 'state']);
  const list = usePages(
    async (cursor, signal) => {
      const open = state === 'open' ? ('true' as const) : ('false' as const);
      const args = { ...personArgument('game_id', person), ...(state && { open }), ...(cursor && { cursor }) };
      const page = await listSessions(guild.rest, args, { signal });
      return { rows: page.sessions, next: page.next_cursor };
    },
    [person, state],
  );
  return (
    <div class="stack-wide">
      <div class="filters">
        <PersonFilter value={person} onChange={(next) => setFilters({ person: next })} />
        <Select
          label={texts.state}
          value={state}
          onChange={(next) => setFilters({ state: next })}
          options={[
            { value: '', label: texts.allSessions },
            { value: 'open', label: texts.openSessions },
            { value: 'ended', label: texts.endedSessions },
          ]}
        />
      </div>
      <Card isFlush>
        <Table
          label={texts.tabs.sessions}
          columns={COLUMNS}
          list={list}
          rowKey={({ session_id }) => session_id}
          empty={
            <EmptyState icon="staff" title={texts.noSessionsTitle}>
              {texts.noSessions}
            </EmptyState>
          }
        />
      </Card>
    </div>
  );
}
