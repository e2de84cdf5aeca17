import { useState } from 'preact/hooks';
import { consoleCall } from '../../api/console.ts';
import { Button } from '../../components/button.tsx';
import { useConfirm } from '../../components/confirm.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Select } from '../../components/field.tsx';
import { Badge, ErrorNote, Note } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { scopeTexts, keysTexts as texts } from '../../texts.ts';
import type { Key, KeyWithSecret } from './types.ts';

type Grace = keyof typeof texts.graces;
const GRACE_SECONDS: Record<Grace, number> = { hour: 3_600, day: 86_400, week: 604_800, none: 0 };

/** A key with what can be done with it. */
export function KeyRow(props: {
  apiKey: Key;
  onEdit: () => void;
  onRotated: (key: KeyWithSecret) => void;
  onChanged: () => void;
}) {
  const { apiKey, onEdit, onRotated, onChanged } = props;
  const { id, name, prefix, scopes, legacy, last_used_at, expires_at, rotated_until } = apiKey;
  const guild = useGuild();
  const confirm = useConfirm();
  const toasts = useToasts();
  const [isRotating, setIsRotating] = useState(false);
  const state = stateOf(apiKey);
  const revoke = async () => {
    const question = { title: texts.revokeTitle, consequence: texts.revokeConsequence(name), action: texts.revoke };
    if (!(await confirm(question))) return;
    try {
      await consoleCall('revokeKey', { params: { guildId: guild.id, keyId: id } });
      toasts.done(texts.revokedDone);
      onChanged();
    } catch (error) {
      toasts.failed(error);
    }
  };
  const facts = legacy ? texts.legacy : texts.scopeCount(scopes.length);
  return (
    <li class="row">
      <div class="row-main">
        <strong>{name}</strong> {state === 'active' ? null : <Badge kind="bad">{texts[state]}</Badge>}
        <p class="mono">{prefix}…</p>
        <p class="hint">
          <span title={scopes.map((scope) => scopeTexts[scope as keyof typeof scopeTexts] ?? scope).join('\n')}>
            {facts}
          </span>
          {' · '}
          {last_used_at === null ? texts.neverUsed : <>{texts.lastUsed} </>}
          {last_used_at !== null && <Time at={last_used_at} />}
          {expires_at !== null && state === 'active' && (
            <>
              {' · '}
              {texts.expires} <Time at={expires_at} />
            </>
          )}
        </p>
        {rotated_until !== null && rotated_until > Date.now() / 1_000 && state === 'active' && (
          <p class="hint">
            <Badge kind="warn">
              {texts.oldWorks}&nbsp;
              <Time at={rotated_until} />
            </Badge>
          </p>
        )}
      </div>
      {state === 'active' && guild.may('keys.write') && (
        <div class="row-actions">
          <Button onClick={onEdit}>{texts.change}</Button>
          <Button onClick={() => setIsRotating(true)}>{texts.rotate}</Button>
          <Button onClick={() => void revoke()}>{texts.revoke}</Button>
        </div>
      )}
      {isRotating && (
        <RotateDialog
          apiKey={apiKey}
          onClose={() => setIsRotating(false)}
          onDone={(key) => {
            setIsRotating(false);
            onRotated(key);
          }}
        />
      )}
    </li>
  );
}

function stateOf({ revoked_at, expires_at }: Key): 'active' | 'revoked' | 'expired' {
  if (revoked_at !== null) return 'revoked';
  return expires_at !== null && expires_at <= Date.now() / 1_000 ? 'expired' : 'active';
}

function RotateDialog(props: { apiKey: Key; onClose: () => void; onDone: (key: KeyWithSecret) => void }) {
  const { apiKey, onClose, onDone } = props;
  const guild = useGuild();
  const [grace, setGrace] = useState<Grace>('day');
  const rotate = useAction(async () => {
    const params = { guildId: guild.id, keyId: apiKey.id };
    onDone(await consoleCall('rotateKey', { params, body: { grace_seconds: GRACE_SECONDS[grace] } }));
  });
  return (
    <Dialog
      title={texts.rotateTitle}
      onClose={onClose}
      onSubmit={() => void rotate.run()}
      actions={<DialogButtons onCancel={onClose} action={texts.rotate} isBusy={rotate.isBusy} />}
    >
      {rotate.error && <ErrorNote error={rotate.error} />}
      <Note>{texts.rotateConsequence(apiKey.name)}</Note>
      <Select
        label={texts.grace}
        value={grace}
        onChange={setGrace}
        options={(Object.keys(texts.graces) as Grace[]).map((value) => ({ value, label: texts.graces[value] }))}
      />
    </Dialog>
  );
}
