import { useState } from 'preact/hooks';
import { getLinks, listActions, listModerationLogs, listSessions } from '#clients/typescript/src/operations.ts';
import type {
  FoundPerson,
  ModerationLogEntry,
  StaffAction,
  StaffSession,
} from '#clients/typescript/src/operations-types.ts';
import { useData } from '../../api/use-data.ts';
import { usePages } from '../../api/use-pages.ts';
import { ButtonLink } from '../../components/button.tsx';
import { PersonName } from '../../components/person.tsx';
import { Card, ErrorNote, Skeleton } from '../../components/states.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { durationText, Time } from '../../components/time.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { linkTexts, historyTexts as texts } from '../../texts.ts';
import { LOG_COLUMNS } from '../moderation/log.tsx';

type TabName = keyof typeof texts.tabs;

/** What happened to a person, and what they did. `version` changes when the history may have changed. */
export function History({ person, version }: { person: FoundPerson; version: unknown }) {
  const { chat_id, game_id } = person;
  const names: TabName[] = [
    ...(game_id === null ? [] : (['log', 'sessions', 'actions'] as const)),
    ...(chat_id === null ? [] : (['links'] as const)),
  ];
  const [tab, setTab] = useState<TabName>(names[0] ?? 'links');
  return (
    <Card title={texts.title}>
      <div>
        <Tabs
          label={texts.views}
          tabs={names.map((name) => ({ name, label: texts.tabs[name] }))}
          value={tab}
          onChange={setTab}
        >
          {tab === 'log' && game_id !== null && <PersonLog gameId={game_id} version={version} />}
          {tab === 'sessions' && game_id !== null && <Sessions gameId={game_id} />}
          {tab === 'actions' && game_id !== null && <Actions gameId={game_id} />}
          {tab === 'links' && chat_id !== null && <Links chatId={chat_id} />}
        </Tabs>
      </div>
    </Card>
  );
}

const isAboutPlayer = ({ name }: { name: string }) => name === 'player';
const PERSON_LOG_COLUMNS = LOG_COLUMNS.filter((column) => !isAboutPlayer(column)).map((column) =>
  column.name === 'action' ? { ...column, kind: 'title' as const } : column,
);

function PersonLog({ gameId, version }: { gameId: number; version: unknown }) {
  const guild = useGuild();
  const list = usePages<ModerationLogEntry>(
    async (cursor, signal) => {
      const args = { game_id: gameId, ...(cursor && { cursor }) };
      const { logs, next_cursor } = await listModerationLogs(guild.rest, args, { signal });
      return { rows: logs, next: next_cursor };
    },
    [gameId, version],
  );
  return (
    <>
      <Table
        label={texts.tabs.log}
        columns={PERSON_LOG_COLUMNS}
        list={list}
        rowKey={(row) => row.id}
        empty={<p class="hint">{texts.noLog}</p>}
      />
      <p>
        <ButtonLink kind="quiet" icon="arrow" href={guild.path(`moderation?tab=log&player=${gameId}`)}>
          {texts.allLog}
        </ButtonLink>
      </p>
    </>
  );
}

const SESSION_COLUMNS: readonly Column<StaffSession>[] = [
  { name: 'started', heading: texts.started, kind: 'title', cell: (row) => <Time at={row.started_at} /> },
  {
    name: 'length',
    heading: texts.length,
    cell: (row) => (row.ended_at === null ? texts.open : durationText(row.ended_at - row.started_at)),
  },
  { name: 'place', heading: texts.place, cell: (row) => row.place_id },
  { name: 'server', heading: texts.server, cell: (row) => <span class="mono">{row.server_id}</span> },
];

function Sessions({ gameId }: { gameId: number }) {
  const { rest } = useGuild();
  const list = usePages<StaffSession>(
    async (cursor, signal) => {
      const args = { game_id: gameId, ...(cursor && { cursor }) };
      const { sessions, next_cursor } = await listSessions(rest, args, { signal });
      return { rows: sessions, next: next_cursor };
    },
    [gameId],
  );
  return (
    <Table
      label={texts.tabs.sessions}
      columns={SESSION_COLUMNS}
      list={list}
      rowKey={(row) => row.session_id}
      empty={<p class="hint">{texts.noSessions}</p>}
    />
  );
}

const ACTION_COLUMNS: readonly Column<StaffAction>[] = [
  { name: 'action', heading: texts.action, kind: 'title', cell: (row) => row.action_type },
  {
    name: 'target',
    heading: texts.target,
    cell: (row) => (row.target_game_id === null ? '–' : <PersonName gameId={row.target_game_id} />),
  },
  { name: 'when', heading: texts.when, cell: (row) => <Time at={row.occurred_at} /> },
];

function Actions({ gameId }: { gameId: number }) {
  const { rest } = useGuild();
  const list = usePages<StaffAction>(
    async (cursor, signal) => {
      const args = { actor_game_id: gameId, ...(cursor && { cursor }) };
      const { actions, next_cursor } = await listActions(rest, args, { signal });
      return { rows: actions, next: next_cursor };
    },
    [gameId],
  );
  return (
    <Table
      label={texts.tabs.actions}
      columns={ACTION_COLUMNS}
      list={list}
      rowKey={(row) => row.id}
      empty={<p class="hint">{texts.noActions}</p>}
    />
  );
}

function Links({ chatId }: { chatId: string }) {
  const { rest } = useGuild();
  const { data, error, reload } = useData((signal) => getLinks(rest, { chatId }, { signal }), [chatId]);
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!data) return <Skeleton rows={2} />;
  if (data.history.length === 0) return <p class="hint">{texts.noLinks}</p>;
  return (
    <ul class="plain-rows">
      {data.history.map((entry) => (
        <li key={`${entry.created_at} ${entry.action} ${entry.game_id}`}>
          {linkTexts.actions[entry.action]} <PersonName gameId={entry.game_id} name={entry.game_username} />{' '}
          <span class="hint">
            <Time at={entry.created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
