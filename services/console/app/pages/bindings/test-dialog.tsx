import { useState } from 'preact/hooks';
import { explainRoles } from '#clients/typescript/src/operations.ts';
import type { Binding, ExplainedRole, FoundPerson } from '#clients/typescript/src/operations-types.ts';
import { useData } from '../../api/use-data.ts';
import { Button, ButtonLink } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorNote, Note, Skeleton } from '../../components/states.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { rolesTexts, syncTexts, testTexts as texts } from '../../texts.ts';
import { idOfPerson, nameOfPerson } from '../people/accounts.ts';
import { PersonPicker } from '../people/person-picker.tsx';
import { conditionOf } from './describe.ts';

/** Says whether a member matches a binding, and why. */
export function TestDialog(props: { binding: Binding; roleName: string; onClose: () => void }) {
  const { binding, roleName, onClose } = props;
  const [person, setPerson] = useState<FoundPerson>();
  return (
    <Dialog
      title={texts.titleOf(roleName)}
      onClose={onClose}
      actions={<Button onClick={onClose}>{syncTexts.close}</Button>}
    >
      <p>{conditionOf(binding)}</p>
      <PersonPicker label={texts.member} hint={texts.memberHint} value={person} needs="chat" onChange={setPerson} />
      {person?.chat_id != null && (
        <Verdict key={person.chat_id} chatId={person.chat_id} person={person} binding={binding} roleName={roleName} />
      )}
    </Dialog>
  );
}

function Verdict(props: { chatId: string; person: FoundPerson; binding: Binding; roleName: string }) {
  const { chatId, person, binding, roleName } = props;
  const guild = useGuild();
  const { data, error, reload } = useData((signal) => explainRoles(guild.rest, { chatId }, { signal }), []);
  if (error?.code === 'NOT_FOUND') return <Note kind="warn">{texts.notInGuild}</Note>;
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!data) return <Skeleton rows={2} />;
  const name = nameOfPerson(person);
  const role = data.roles.find(({ role_id }) => role_id === binding.chat_role_id);
  return (
    <div class="stack" aria-live="polite">
      {data.game_id === null ? (
        <Note kind="warn">{texts.notVerified(name)}</Note>
      ) : (
        <Result name={name} role={role} bindingId={binding.id} roleName={roleName} />
      )}
      <p>
        <ButtonLink kind="quiet" icon="arrow" href={guild.path(`people/${idOfPerson(person)}`)}>
          {texts.person}
        </ButtonLink>
      </p>
    </div>
  );
}

function Result(props: { name: string; role: ExplainedRole | undefined; bindingId: number; roleName: string }) {
  const { name, role, bindingId, roleName } = props;
  const verdict = role?.bindings.find(({ binding_id }) => binding_id === bindingId);
  if (!role || !verdict) return <Note kind="warn">{texts.gone}</Note>;
  const { matches, reason } = verdict;
  const isOtherMatch = matches === 'no' && role.bindings.some((other) => other.matches === 'yes');
  const sentence = { yes: texts.yes(name, roleName), no: texts.no(name), unknown: texts.unknown }[matches];
  return (
    <>
      <Note kind={matches === 'yes' ? 'good' : 'warn'}>
        <strong>{sentence}</strong>
        <p>{reason}</p>
      </Note>
      {isOtherMatch && <p>{texts.otherMatch}</p>}
      <p>
        {role.has_role ? texts.has(roleName) : texts.lacks(roleName)} {!role.blocked && rolesTexts.actions[role.action]}
      </p>
      {role.blocked && (
        <Note kind="warn">
          <strong>{rolesTexts.blocked}</strong> {role.blocked.message}
        </Note>
      )}
    </>
  );
}
