import { useState } from 'preact/hooks';
import { checkShield, getOverview } from '#clients/typescript/src/operations.ts';
import type { FoundPerson } from '#clients/typescript/src/operations-types.ts';
import { useData } from '../../api/use-data.ts';
import { Button } from '../../components/button.tsx';
import { Badge, Card, ErrorNote, Note, Skeleton } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { flagTexts, flaggedTexts as texts } from '../../texts.ts';
import { PersonPicker } from '../people/person-picker.tsx';
import { FlagDialog, isOwnFlag, useUnflag } from './flag-dialog.tsx';
import { ImportDialog } from './import-dialog.tsx';

/** The flagged list: check a player, add or remove one, and import many. */
export function Flagged() {
  const guild = useGuild();
  const [isImporting, setIsImporting] = useState(false);
  const overview = useData((signal) => getOverview(guild.rest, { signal }), []);
  const count = overview.data?.counts.flagged_players;
  const isMinimum = overview.data?.minimums.includes('flagged_players') ?? false;
  const [person, setPerson] = useState<FoundPerson>();
  return (
    <div class="columns">
      <Card title={texts.check} description={texts.checkHint}>
        <PersonPicker label={texts.player} value={person} needs="game" onChange={setPerson} />
        {person?.game_id != null && (
          <Check key={person.game_id} person={person} gameId={person.game_id} onChange={overview.reload} />
        )}
      </Card>
      <Card title={texts.import} description={texts.importHint}>
        {count != null && <Note>{texts.count(count, isMinimum)}</Note>}
        {guild.hasScope('moderation:write') && (
          <div>
            <Button onClick={() => setIsImporting(true)}>{texts.choose}</Button>
          </div>
        )}
      </Card>
      {isImporting && (
        <ImportDialog
          onClose={() => {
            setIsImporting(false);
            overview.reload();
          }}
        />
      )}
    </div>
  );
}

function Check(props: { person: FoundPerson; gameId: number; onChange: () => void }) {
  const { person, gameId, onChange } = props;
  const guild = useGuild();
  const [isFlagging, setIsFlagging] = useState(false);
  const check = useData((signal) => checkShield(guild.rest, { gameId }, { signal }), []);
  const changed = () => {
    check.reload();
    onChange();
  };
  const unflag = useUnflag(changed);
  const mayWrite = guild.hasScope('moderation:write');
  if (check.error) return <ErrorNote error={check.error} onRetry={check.reload} />;
  if (!check.data) return <Skeleton rows={2} />;
  const { entry } = check.data;
  return (
    <>
      <div>
        <Badge kind={entry ? 'bad' : 'good'}>{entry ? texts.flagged : texts.notFlagged}</Badge>
      </div>
      {entry && (
        <dl class="facts">
          <dt>{texts.category}</dt>
          <dd>{entry.category}</dd>
          <dt>{texts.reason}</dt>
          <dd>{entry.reason}</dd>
          <dt>{texts.since}</dt>
          <dd>
            <Time at={entry.flagged_at} />
          </dd>
        </dl>
      )}
      {entry && !isOwnFlag(entry) && <p class="hint">{flagTexts.byOperators}</p>}
      {mayWrite && (
        <div class="row-actions">
          {entry && isOwnFlag(entry) && <Button onClick={() => void unflag(entry)}>{flagTexts.remove}</Button>}
          {!entry && <Button onClick={() => setIsFlagging(true)}>{flagTexts.title}</Button>}
        </div>
      )}
      {isFlagging && <FlagDialog person={person} onClose={() => setIsFlagging(false)} onChange={changed} />}
    </>
  );
}
