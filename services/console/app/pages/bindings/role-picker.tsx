import { useId, useState } from 'preact/hooks';
import type { Role } from '#clients/typescript/src/operations-types.ts';
import { TextField } from '../../components/field.tsx';
import { RoleName } from '../../components/role-name.tsx';
import { Note } from '../../components/states.tsx';
import { editorTexts as texts } from '../../texts.ts';
import { adviceOf, reasonOf } from './role-help.ts';

/** With more roles than this a field filters them. */
const MAX_UNFILTERED = 8;

/** A choice of a role of the chat platform. Roles that the bot cannot assign are shown with the reason. */
export function RolePicker(props: {
  roles: readonly Role[];
  value: string;
  onChange: (roleId: string) => void;
  error?: string | undefined;
}) {
  const { roles, value, onChange, error } = props;
  const name = useId();
  const [filter, setFilter] = useState('');
  const wanted = filter.trim().toLowerCase();
  const shown = roles
    .filter((role) => role.name.toLowerCase().includes(wanted))
    .sort((left, right) => Number(right.assignable) - Number(left.assignable) || right.position - left.position);
  const advice = adviceOf(roles);
  return (
    <fieldset class="field">
      <legend class="visually-hidden">{texts.roleStep}</legend>
      {roles.length > MAX_UNFILTERED && <TextField label={texts.findRole} value={filter} onChange={setFilter} />}
      <div class="role-choices">
        {shown.map((role) => (
          <label key={role.id} class={role.assignable ? 'choice' : 'choice is-disabled'}>
            <input
              type="radio"
              name={name}
              value={role.id}
              checked={role.id === value}
              disabled={!role.assignable}
              onChange={() => onChange(role.id)}
            />
            <span>
              <RoleName name={role.name} color={role.color} />
              {!role.assignable && <span class="hint">{reasonOf(role)}</span>}
            </span>
          </label>
        ))}
        {shown.length === 0 && <p class="hint">{texts.noRole}</p>}
      </div>
      {error && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
      {advice && <Note kind="warn">{advice}</Note>}
    </fieldset>
  );
}
