import { useState } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import type { FoundPerson } from '#clients/typescript/src/operations-types.ts';
import { useData } from '../../api/use-data.ts';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Badge, EmptyState, ErrorNote, Note, Skeleton } from '../../components/states.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { Page } from '../../shell/page.tsx';
import { peopleTexts, punishTexts, personPageTexts as texts } from '../../texts.ts';
import { PunishDialog } from '../moderation/punish-dialog.tsx';
import type { PunishmentKind } from '../moderation/punishments.ts';
import { nameOfPerson } from './accounts.ts';
import { Accounts } from './accounts-card.tsx';
import { History } from './history.tsx';
import { type PlayerData, usePlayer } from './player.ts';
import { Presence } from './presence.tsx';
import { Roles } from './roles.tsx';
import { Status } from './status.tsx';
import { identify } from './use-people.ts';

/** Everything about one person, whose game or chat ID is in the URL. */
export function PersonPage() {
  const { params } = useRoute();
  const id = params['id'] ?? '';
  return <ById key={id} id={id} />;
}

function ById({ id }: { id: string }) {
  const guild = useGuild();
  const { data, error, reload } = useData((signal) => identify(guild.rest, id, signal), []);
  if (error) {
    return (
      <Page title={id}>
        <ErrorNote error={error} onRetry={reload} />
      </Page>
    );
  }
  if (data === undefined) {
    return (
      <Page title={id}>
        <Skeleton rows={6} />
      </Page>
    );
  }
  if (data === null) return <WrongId />;
  return <Profile person={data.person} isIncomplete={data.isIncomplete} reload={reload} />;
}

function WrongId() {
  const guild = useGuild();
  return (
    <EmptyState
      icon="search"
      title={texts.wrongIdTitle}
      action={
        <ButtonLink kind="primary" href={guild.path('people')}>
          {texts.toSearch}
        </ButtonLink>
      }
    >
      {texts.wrongId}
    </EmptyState>
  );
}

function Profile(props: { person: FoundPerson; isIncomplete: boolean; reload: () => void }) {
  const { person, isIncomplete, reload } = props;
  const guild = useGuild();
  const [dialog, setDialog] = useState<PunishmentKind>();
  const player = usePlayer(person.game_id);
  const mayPunish = person.game_id !== null && guild.hasScope('moderation:write');
  return (
    <Page
      title={nameOfPerson(person)}
      description={<Badges person={person} data={player.data ?? undefined} />}
      actions={
        mayPunish && (
          <>
            <Button kind="danger" icon="moderation" onClick={() => setDialog('ban')}>
              {punishTexts.ban.action}
            </Button>
            <Button onClick={() => setDialog('mute')}>{punishTexts.mute.action}</Button>
          </>
        )
      }
    >
      {isIncomplete && <Note kind="warn">{peopleTexts.incomplete}</Note>}
      {player.error && <ErrorNote error={player.error} onRetry={player.reload} />}
      <div class="columns">
        <div class="stack">
          <Status person={person} data={player.data} reload={player.reload} />
          <Accounts person={person} reload={reload} />
          {player.data && <Presence player={player.data.player} />}
        </div>
        <Roles key={`${person.chat_id} ${person.game_id}`} person={person} />
      </div>
      <History person={person} version={player.data} />
      {dialog && (
        <PunishDialog kind={dialog} person={person} onClose={() => setDialog(undefined)} onChange={player.reload} />
      )}
    </Page>
  );
}

function Badges({ person, data }: { person: FoundPerson; data: PlayerData | undefined }) {
  const isLinked = person.chat_id !== null && person.game_id !== null;
  return (
    <span class="badges">
      {(data?.punishments.ban.length ?? 0) > 0 && <Badge kind="bad">{texts.banned}</Badge>}
      {(data?.punishments.mute.length ?? 0) > 0 && <Badge kind="warn">{texts.muted}</Badge>}
      {data?.player.flag && <Badge kind="bad">{texts.flagged}</Badge>}
      {data?.player.server && <Badge kind="good">{texts.inGame}</Badge>}
      <Badge kind={isLinked ? 'accent' : 'plain'}>{isLinked ? texts.linked : texts.notLinked}</Badge>
    </span>
  );
}
