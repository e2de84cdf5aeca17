import { listModerationLogs } from '#clients/typescript/src/operations.ts';
import type { ModerationAction, ModerationLogEntry } from '#clients/typescript/src/operations-types.ts';
import { type Pages, usePages } from '../../api/use-pages.ts';
import { PersonName } from '../../components/person.tsx';
import { Badge, EmptyState } from '../../components/states.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { durationText, Time } from '../../components/time.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { actionTexts, moderationTexts as texts } from '../../texts.ts';
import { Moderator, placeText } from './cells.tsx';
import { type Filters, isFiltered } from './filters.ts';
import { logArgs } from './log-args.ts';

/** The moderation log, page by page. */
export function useLog(filters: Filters): Pages<ModerationLogEntry> {
  const { rest } = useGuild();
  const args = logArgs(filters);
  return usePages<ModerationLogEntry>(
    async (cursor, signal) => {
      const { logs, next_cursor } = await listModerationLogs(rest, { ...args, ...(cursor && { cursor }) }, { signal });
      return { rows: logs, next: next_cursor };
    },
    [JSON.stringify(args)],
  );
}

const KINDS: Record<ModerationAction, 'bad' | 'warn' | 'good'> = {
  ban: 'bad',
  mute: 'warn',
  unban: 'good',
  unmute: 'good',
};

/** How long a logged ban or mute was to last. */
export function lengthOf({ action, duration_seconds }: ModerationLogEntry): string {
  if (action === 'unban' || action === 'unmute') return texts.none;
  return duration_seconds === null ? texts.permanent : durationText(duration_seconds);
}

/** The columns of the log. */
export const LOG_COLUMNS: readonly Column<ModerationLogEntry>[] = [
  {
    name: 'player',
    heading: texts.player,
    kind: 'title',
    width: '17%',
    cell: (row) => <PersonName gameId={row.game_id} name={row.game_username} />,
  },
  {
    name: 'action',
    heading: texts.action,
    cell: ({ action }) => <Badge kind={KINDS[action]}>{actionTexts[action]}</Badge>,
  },
  { name: 'reason', heading: texts.reason, width: '22%', cell: (row) => row.reason ?? texts.none },
  { name: 'duration', heading: texts.duration, cell: lengthOf },
  { name: 'where', heading: texts.where, cell: placeText },
  { name: 'by', heading: texts.by, cell: (row) => <Moderator row={row} /> },
  { name: 'when', heading: texts.when, cell: (row) => <Time at={row.created_at} /> },
];

/** The table of the moderation log. */
export function Log({ list, filters }: { list: Pages<ModerationLogEntry>; filters: Filters }) {
  return (
    <Table
      label={texts.tabs.log}
      columns={LOG_COLUMNS}
      list={list}
      rowKey={(row) => row.id}
      empty={
        isFiltered(filters, 'log') ? (
          <EmptyState icon="search" title={texts.noMatchTitle}>
            {texts.noMatch}
          </EmptyState>
        ) : (
          <EmptyState icon="moderation" title={texts.noLogTitle}>
            {texts.noLog}
          </EmptyState>
        )
      }
    />
  );
}
