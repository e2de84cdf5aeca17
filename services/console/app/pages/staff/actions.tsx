import { listActions } from '#clients/typescript/src/operations.ts';
import type { StaffAction } from '#clients/typescript/src/operations-types.ts';
import { usePages } from '../../api/use-pages.ts';
import { TextField } from '../../components/field.tsx';
import { PersonName } from '../../components/person.tsx';
import { Badge, Card, EmptyState } from '../../components/states.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useGuild } from '../../shell/guild.tsx';
import { staffTexts as texts } from '../../texts.ts';
import { PersonFilter, personArgument } from './person-filter.tsx';

const COLUMNS: readonly Column<StaffAction>[] = [
  {
    name: 'person',
    heading: texts.person,
    kind: 'title',
    cell: ({ actor_game_id }) => <PersonName gameId={actor_game_id} />,
  },
  { name: 'action', heading: texts.action, cell: ({ action_type }) => <Badge kind="accent">{action_type}</Badge> },
  {
    name: 'target',
    heading: texts.target,
    cell: ({ target_game_id }) => (target_game_id === null ? texts.none : <PersonName gameId={target_game_id} />),
  },
  { name: 'time', heading: texts.time, cell: ({ occurred_at }) => <Time at={occurred_at} /> },
  {
    name: 'details',
    heading: texts.details,
    cell: ({ details }) => (details === null ? texts.none : <code>{JSON.stringify(details)}</code>),
  },
];

/** What staff did, the newest first. */
export function ActionsView() {
  const guild = useGuild();
  const [{ person, type }, setFilters] = useFilters(['person', 'type']);
  const list = usePages(
    async (cursor, signal) => {
      const filters = { ...personArgument('actor_game_id', person), ...(type && { action_type: type }) };
      const page = await listActions(guild.rest, { ...filters, ...(cursor && { cursor }) }, { signal });
      return { rows: page.actions, next: page.next_cursor };
    },
    [person, type],
  );
  return (
    <div class="stack-wide">
      <div class="filters">
        <PersonFilter value={person} onChange={(next) => setFilters({ person: next })} />
        <TextField label={texts.type} value={type} onChange={(next) => setFilters({ type: next.trim() })} />
      </div>
      <Card isFlush>
        <Table
          label={texts.tabs.actions}
          columns={COLUMNS}
          list={list}
          rowKey={({ id }) => id}
          empty={
            <EmptyState icon="staff" title={texts.noActionsTitle}>
              {texts.noActions}
            </EmptyState>
          }
        />
      </Card>
    </div>
  );
}
