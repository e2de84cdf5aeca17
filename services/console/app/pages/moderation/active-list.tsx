import type { Punishment } from '#clients/typescript/src/operations-types.ts';
import { type Pages, usePages } from '../../api/use-pages.ts';
import { Button } from '../../components/button.tsx';
import { PersonName } from '../../components/person.tsx';
import { EmptyState } from '../../components/states.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { punishTexts, moderationTexts as texts } from '../../texts.ts';
import { Ends, Moderator, placeText } from './cells.tsx';
import { type Filters, isFiltered } from './filters.ts';
import { listActive, type PunishmentKind } from './punishments.ts';
import { useLift } from './use-lift.ts';

const PAGE_ROWS = 100;

/** The active bans or mutes, page by page. */
export function useActive(kind: PunishmentKind, { player, place }: Pick<Filters, 'player' | 'place'>) {
  const { rest } = useGuild();
  return usePages<Punishment>(
    (cursor, signal) => {
      const args = { limit: PAGE_ROWS, ...(player && { game_id: player }), ...(place && { place_id: place }) };
      return listActive(rest, kind, { ...args, ...(cursor && { cursor }) }, signal);
    },
    [kind, player, place],
  );
}

/** The table of active bans or mutes. */
export function ActiveList(props: { kind: PunishmentKind; list: Pages<Punishment>; filters: Filters }) {
  const { kind, list, filters } = props;
  const guild = useGuild();
  const lift = useLift(kind, list.reload);
  const columns: Column<Punishment>[] = [
    {
      name: 'player',
      heading: texts.player,
      kind: 'title',
      width: '17%',
      cell: (row) => <PersonName gameId={row.game_id} name={row.game_username} />,
    },
    { name: 'reason', heading: texts.reason, width: '24%', cell: (row) => row.reason },
    { name: 'ends', heading: texts.ends, cell: (row) => <Ends row={row} /> },
    { name: 'where', heading: texts.where, cell: placeText },
    { name: 'by', heading: texts.by, cell: (row) => <Moderator row={row} /> },
    { name: 'since', heading: texts.since, cell: (row) => <Time at={row.created_at} /> },
  ];
  if (guild.hasScope('moderation:write')) {
    columns.push({
      name: 'actions',
      heading: texts.actions,
      kind: 'actions',
      width: '126px',
      cell: (row) => (
        <Button
          aria-label={punishTexts[kind].liftOf(row.game_username ?? String(row.game_id))}
          onClick={() => void lift(row)}
        >
          {punishTexts[kind].lift}
        </Button>
      ),
    });
  }
  return (
    <Table
      label={kind === 'ban' ? texts.tabs.bans : texts.tabs.mutes}
      columns={columns}
      list={list}
      rowKey={(row) => row.id}
      empty={<Empty kind={kind} isFiltered={isFiltered(filters, kind === 'ban' ? 'bans' : 'mutes')} />}
    />
  );
}

function Empty({ kind, isFiltered: hasFilters }: { kind: PunishmentKind; isFiltered: boolean }) {
  if (hasFilters) {
    return (
      <EmptyState icon="search" title={texts.noMatchTitle}>
        {texts.noMatch}
      </EmptyState>
    );
  }
  return (
    <EmptyState icon="moderation" title={kind === 'ban' ? texts.noBansTitle : texts.noMutesTitle}>
      {kind === 'ban' ? texts.noBans : texts.noMutes}
    </EmptyState>
  );
}
