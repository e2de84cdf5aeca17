import { useState } from 'preact/hooks';
import { getStaffPermissions } from '#clients/typescript/src/operations.ts';
import type { StaffPermissions } from '#clients/typescript/src/operations-types.ts';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';
import { PersonName } from '../../components/person.tsx';
import { Badge, Card, ErrorNote } from '../../components/states.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { staffTexts as texts } from '../../texts.ts';

/** Which permissions a person has in the game. */
export function PermissionsView() {
  const guild = useGuild();
  const [gameId, setGameId] = useState('');
  const [isChecked, setIsChecked] = useState(false);
  const [found, setFound] = useState<StaffPermissions>();
  const isValid = /^[1-9][0-9]{0,15}$/.test(gameId);
  const check = useAction(async () => {
    setIsChecked(true);
    if (isValid) setFound(await getStaffPermissions(guild.rest, { gameId }));
  });
  return (
    <Card description={texts.permissionsHint} title={texts.tabs.permissions}>
      <form
        class="filters"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void check.run();
        }}
      >
        <TextField
          label={texts.gameId}
          inputMode="numeric"
          value={gameId}
          error={isChecked && !isValid ? texts.gameIdFault : undefined}
          onChange={(text) => setGameId(text.trim())}
        />
        <Button type="submit" kind="primary" isBusy={check.isBusy}>
          {texts.check}
        </Button>
      </form>
      {check.error && <ErrorNote error={check.error} />}
      <div aria-live="polite">{found && !check.error && <Result found={found} />}</div>
    </Card>
  );
}

function Result({ found }: { found: StaffPermissions }) {
  const { game_id, is_staff, role_name, level, permissions } = found;
  return (
    <div class="stack">
      <p>
        <PersonName gameId={game_id} />
      </p>
      <p>
        {is_staff ? (
          <Badge kind="good">{texts.isStaff(role_name ?? '', level)}</Badge>
        ) : (
          <Badge>{texts.notStaff}</Badge>
        )}
      </p>
      {!is_staff && <p class="hint">{texts.notStaffHint}</p>}
      {is_staff && (
        <>
          <h3>{texts.permissionList}</h3>
          {permissions.length === 0 && <p>{texts.noPermissions}</p>}
          <ul class="names">
            {permissions.map((permission) => (
              <li key={permission}>
                <code>{permission}</code>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
