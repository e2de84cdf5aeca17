import type { Binding, PreviewResult } from '#clients/typescript/src/operations-types.ts';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Card } from '../../components/states.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { editorTexts as texts } from '../../texts.ts';
import { conditionOf, roleNameOf } from './describe.ts';
import { GroupSync, MembersSync } from './sync.tsx';

/** What comes after a binding was saved: a sync of everybody whom it concerns. */
export function Saved(props: { binding: Binding; members: PreviewResult['members']; onAnother: () => void }) {
  const { binding, members, onAnother } = props;
  const guild = useGuild();
  return (
    <Card title={texts.savedTitle}>
      <p>
        <strong>{roleNameOf(binding)}</strong>: {conditionOf(binding)}
      </p>
      <p>{texts.saved}</p>
      <div>
        {binding.game_group_id !== null && <GroupSync groupId={binding.game_group_id} />}
        {binding.game_group_id === null && members.length > 0 && <MembersSync members={members} />}
      </div>
      <div class="row-actions">
        <ButtonLink href={guild.path('bindings')}>{texts.done}</ButtonLink>
        <Button kind="quiet" onClick={onAnother}>
          {texts.another}
        </Button>
      </div>
    </Card>
  );
}
