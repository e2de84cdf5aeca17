import { useState } from 'preact/hooks';
import type { FoundPerson, Punishment, ShieldEntry } from '#clients/typescript/src/operations-types.ts';
import { Button } from '../../components/button.tsx';
import { Badge, Card, Skeleton } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { flagTexts, moderationTexts, punishTexts, personPageTexts as texts } from '../../texts.ts';
import { Ends, Moderator, placeText } from '../moderation/cells.tsx';
import { FlagDialog, isOwnFlag, useUnflag } from '../moderation/flag-dialog.tsx';
import type { PunishmentKind } from '../moderation/punishments.ts';
import { useLift } from '../moderation/use-lift.ts';
import type { PlayerData } from './player.ts';

/** Whether a person is banned, muted or flagged, and the ways to end that. */
export function Status(props: { person: FoundPerson; data: PlayerData | null | undefined; reload: () => void }) {
  const { person, data, reload } = props;
  return (
    <Card title={texts.status}>
      {data === undefined && <Skeleton rows={3} />}
      {data === null && <p class="hint">{texts.noGame}</p>}
      {data && (
        <ul class="status">
          <PunishmentStatus kind="ban" rows={data.punishments.ban} reload={reload} />
          <PunishmentStatus kind="mute" rows={data.punishments.mute} reload={reload} />
          <FlagStatus person={person} flag={data.player.flag} reload={reload} />
        </ul>
      )}
    </Card>
  );
}

function PunishmentStatus(props: { kind: PunishmentKind; rows: readonly Punishment[]; reload: () => void }) {
  const { kind, rows, reload } = props;
  const lift = useLift(kind, reload);
  const guild = useGuild();
  if (rows.length === 0) {
    return <li class="hint">{kind === 'ban' ? texts.notBanned : texts.notMuted}</li>;
  }
  return (
    <>
      {rows.map((row) => (
        <li key={row.id} class="status-row">
          <div class="row-main">
            <p>
              <Badge kind={kind === 'ban' ? 'bad' : 'warn'}>{kind === 'ban' ? texts.banned : texts.muted}</Badge>{' '}
              {moderationTexts.ends.toLowerCase()} <Ends row={row} />
            </p>
            <p>{row.reason}</p>
            <p class="hint">
              {(row.moderator_chat_id ?? row.moderator_game_id) !== null && (
                <>
                  {texts.by} <Moderator row={row} /> ·{' '}
                </>
              )}
              <Time at={row.created_at} /> · {placeText(row)}
            </p>
          </div>
          {guild.hasScope('moderation:write') && (
            <Button onClick={() => void lift(row)}>{punishTexts[kind].lift}</Button>
          )}
        </li>
      ))}
    </>
  );
}

function FlagStatus(props: { person: FoundPerson; flag: ShieldEntry | null; reload: () => void }) {
  const { person, flag, reload } = props;
  const guild = useGuild();
  const unflag = useUnflag(reload);
  const [isFlagging, setIsFlagging] = useState(false);
  const mayWrite = guild.hasScope('moderation:write');
  return (
    <li class="status-row">
      <div class="row-main">
        {flag ? (
          <>
            <p>
              <Badge kind="bad">{texts.flagged}</Badge> {flag.category}
            </p>
            <p>{flag.reason}</p>
            <p class="hint">
              <Time at={flag.flagged_at} />
              {!isOwnFlag(flag) && ` · ${flagTexts.byOperators}`}
            </p>
          </>
        ) : (
          <p class="hint">{texts.notFlagged}</p>
        )}
      </div>
      {mayWrite && flag && isOwnFlag(flag) && <Button onClick={() => void unflag(flag)}>{flagTexts.remove}</Button>}
      {mayWrite && !flag && <Button onClick={() => setIsFlagging(true)}>{flagTexts.action}</Button>}
      {isFlagging && <FlagDialog person={person} onClose={() => setIsFlagging(false)} onChange={reload} />}
    </li>
  );
}
