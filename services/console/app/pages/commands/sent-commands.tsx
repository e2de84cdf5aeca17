import { useEffect, useState } from 'preact/hooks';
import { cancelCommand, getCommand, listCommands } from '#clients/typescript/src/operations.ts';
import type { CommandRecord, CommandServer } from '#clients/typescript/src/operations-types.ts';
import { useData } from '../../api/use-data.ts';
import { usePages } from '../../api/use-pages.ts';
import { Button } from '../../components/button.tsx';
import { PersonName } from '../../components/person.tsx';
import { Badge, Card, EmptyState, ErrorNote, Note, Skeleton } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { commandsTexts as texts } from '../../texts.ts';

const PER_PAGE = 25;
const REFRESH_MS = 2_000;
const MAX_SERVERS = 100;

/** The commands that were sent, the newest first. `newest` is one that this page just sent: it is opened. */
export function SentCommands({ newest }: { newest: string | undefined }) {
  const guild = useGuild();
  const list = usePages(
    async (cursor, signal) => {
      const page = await listCommands(guild.rest, { limit: PER_PAGE, ...(cursor && { cursor }) }, { signal });
      return { rows: page.commands, next: page.next_cursor };
    },
    [newest],
  );
  const commands = list.pages?.flat() ?? [];
  return (
    <Card title={texts.history} isFlush>
      {list.error && <ErrorNote error={list.error} onRetry={list.reload} />}
      {!list.pages && !list.error && <Skeleton rows={3} />}
      {list.pages && commands.length === 0 && (
        <EmptyState icon="commands" title={texts.emptyTitle}>
          {texts.empty}
        </EmptyState>
      )}
      <ul class="rows">
        {commands.map((command) => (
          <SentCommand key={command.command_id} command={command} isNew={command.command_id === newest} />
        ))}
      </ul>
      {list.hasMore && (
        <div class="next-page">
          <Button kind="quiet" isBusy={list.isLoading} onClick={list.loadMore}>
            {texts.older}
          </Button>
        </div>
      )}
    </Card>
  );
}

const STATE_KINDS = { open: 'accent', finished: 'plain', cancelled: 'warn' } as const;

function SentCommand({ command, isNew }: { command: CommandRecord; isNew: boolean }) {
  const [isOpen, setIsOpen] = useState(isNew);
  const { type, payload, target, issued_by, created_at, state, outcome } = command;
  const text = payload['text'] ?? payload['reason'];
  return (
    <li class="row">
      <div class="row-main">
        <strong>{texts.types[type]}</strong>
        {target && (
          <>
            {' · '}
            <PersonName gameId={target.game_id} name={target.game_username} />
          </>
        )}
        {typeof text === 'string' && <p class="quote">{text}</p>}
        <p class="hint">
          <Time at={created_at} /> {issued_by !== null && <Issuer issuer={issued_by} />}
        </p>
      </div>
      <Badge kind={STATE_KINDS[state]}>{texts.states[state]}</Badge>
      <span class="hint">
        {outcome.servers === 0 ? texts.noOutcome : texts.outcome(outcome.succeeded, outcome.servers)}
      </span>
      {outcome.servers > 0 && (
        <details class="more server-who" open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
          <summary>{texts.answers}</summary>
          {isOpen && <Answers commandId={command.command_id} />}
        </details>
      )}
    </li>
  );
}

/** Who sent a command: a person, or a key by its prefix. */
function Issuer({ issuer }: { issuer: string }) {
  const isPerson = /^[0-9]+$/.test(issuer);
  return (
    <>
      {texts.issuers[issuer] ?? (
        <>
          {texts.by} {isPerson ? <PersonName chatId={issuer} /> : issuer}
        </>
      )}
    </>
  );
}

/** The answer of each server, read again while the command is open. */
function Answers({ commandId }: { commandId: string }) {
  const guild = useGuild();
  const toasts = useToasts();
  const { data, error, reload } = useData(
    (signal) => getCommand(guild.rest, { commandId, limit: MAX_SERVERS }, { signal }),
    [],
  );
  const isOpen = data?.state === 'open';
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [isOpen]);
  const cancel = useAction(async () => {
    const { cancelled } = await cancelCommand(guild.rest, { commandId });
    toasts.done(texts.cancelled(cancelled));
    reload();
  });
  if (error && !data) return <ErrorNote error={error} onRetry={reload} />;
  if (!data) return <Skeleton rows={1} />;
  return (
    <>
      <ul class="answers" aria-live="polite">
        {data.servers.map((server) => (
          <Answer key={server.server_id} server={server} />
        ))}
      </ul>
      {data.next_cursor !== null && <Note>{texts.moreServers}</Note>}
      {cancel.error && <ErrorNote error={cancel.error} />}
      {isOpen && guild.hasScope('commands:write') && (
        <Button isBusy={cancel.isBusy} onClick={() => void cancel.run()}>
          {texts.cancel}
        </Button>
      )}
    </>
  );
}

const ANSWER_KINDS = {
  queued: 'plain',
  leased: 'accent',
  success: 'good',
  failed: 'bad',
  rejected: 'bad',
  expired: 'warn',
  cancelled: 'warn',
} as const;

function Answer({ server }: { server: CommandServer }) {
  const { server_id, state, acked_at, result, error } = server;
  return (
    <li class="answer">
      <span class="mono">{server_id}</span>
      <Badge kind={ANSWER_KINDS[state]}>{texts.serverStates[state]}</Badge>
      {acked_at !== null && (
        <span class="hint">
          <Time at={acked_at} format="clock" />
        </span>
      )}
      {error !== null && <span>{error}</span>}
      {result !== null && result !== undefined && <code class="answer-result">{JSON.stringify(result)}</code>}
    </li>
  );
}
