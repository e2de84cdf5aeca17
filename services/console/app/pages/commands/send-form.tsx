import { useState } from 'preact/hooks';
import { listServers, sendCommand } from '#clients/typescript/src/operations.ts';
import type { GameServer } from '#clients/typescript/src/operations-types.ts';
import { useData } from '../../api/use-data.ts';
import { Button } from '../../components/button.tsx';
import { useConfirm } from '../../components/confirm.tsx';
import { Field, Select, TextArea, TextField } from '../../components/field.tsx';
import { Card, ErrorNote, Note } from '../../components/states.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { commandsTexts as texts } from '../../texts.ts';
import { commandOf, type Draft, EMPTY_DRAFT, type Faults, faultsOf, placesOf, SENDABLE } from './draft.ts';

const MAX_SERVERS = 100;

/** A form for the types of commands that persons send. */
export function SendForm({ onSent }: { onSent: (commandId: string) => void }) {
  const guild = useGuild();
  const confirm = useConfirm();
  const toasts = useToasts();
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const [isChecked, setIsChecked] = useState(false);
  const servers = useData((signal) => listServers(guild.rest, { limit: MAX_SERVERS }, { signal }), []);
  const live = servers.data?.servers ?? [];
  const change = (changed: Partial<Draft>) => setDraft((now) => ({ ...now, ...changed }));
  const faults = isChecked ? faultsOf(draft) : {};
  const send = useAction(async () => {
    setIsChecked(true);
    if (Object.keys(faultsOf(draft)).length > 0) return;
    const consequence = texts.shutdownConsequence(whereText(draft.where, live));
    const question = { title: texts.shutdownTitle, consequence, action: texts.shutdown };
    if (draft.type === 'shutdown' && !(await confirm(question))) return;
    const { command_id, servers: count } = await sendCommand(guild.rest, commandOf(draft));
    toasts.done(count === 0 ? texts.noOutcome : texts.sent(count));
    setDraft({ ...EMPTY_DRAFT, type: draft.type, where: draft.where });
    setIsChecked(false);
    onSent(command_id);
  });
  return (
    <Card title={texts.sendTitle}>
      <form
        class="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void send.run();
        }}
      >
        {send.error && <ErrorNote error={send.error} />}
        {servers.data && live.length === 0 && <Note kind="warn">{texts.noServers}</Note>}
        <div class="filters">
          <Select
            label={texts.type}
            value={draft.type}
            onChange={(type) => change({ type })}
            options={SENDABLE.map((value) => ({ value, label: texts.types[value] }))}
          />
          <WhereField where={draft.where} servers={live} onChange={(where) => change({ where })} />
        </div>
        <Parameters draft={draft} faults={faults} change={change} />
        <div class="form-end">
          <Button type="submit" kind={draft.type === 'shutdown' ? 'danger' : 'primary'} isBusy={send.isBusy}>
            {texts.send}
          </Button>
          {guild.hasScope('moderation:write') && <p class="hint">{texts.moderationHint}</p>}
        </div>
      </form>
    </Card>
  );
}

function whereText(where: string, servers: readonly GameServer[]): string {
  if (where === 'all') return texts.everywhere(servers.length);
  return where.replace(/^place:/, 'Place ').replace(/^server:/, 'Server ');
}

function WhereField(props: { where: string; servers: readonly GameServer[]; onChange: (where: string) => void }) {
  const { where, servers, onChange } = props;
  return (
    <Field label={texts.where}>
      {(control) => (
        <select {...control} value={where} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="all">{texts.everywhere(servers.length)}</option>
          {servers.length > 0 && (
            <>
              <optgroup label={texts.placesGroup}>
                {placesOf(servers).map(({ id, count }) => (
                  <option key={id} value={`place:${id}`}>
                    {texts.place(id, count)}
                  </option>
                ))}
              </optgroup>
              <optgroup label={texts.serversGroup}>
                {servers.map(({ server_id, player_count }) => (
                  <option key={server_id} value={`server:${server_id}`}>
                    {texts.server(server_id, player_count)}
                  </option>
                ))}
              </optgroup>
            </>
          )}
        </select>
      )}
    </Field>
  );
}

function Parameters(props: { draft: Draft; faults: Faults; change: (changed: Partial<Draft>) => void }) {
  const { draft, faults, change } = props;
  const { type } = draft;
  return (
    <>
      {(type === 'message' || type === 'kick') && (
        <TextField
          label={texts.player}
          hint={texts.playerHint}
          error={faults.player}
          inputMode="numeric"
          value={draft.player}
          onChange={(player) => change({ player: player.trim() })}
        />
      )}
      {(type === 'broadcast' || type === 'message') && (
        <TextArea
          label={texts.text}
          hint={texts.textHint}
          error={faults.text}
          value={draft.text}
          onChange={(text) => change({ text })}
        />
      )}
      {(type === 'kick' || type === 'shutdown') && (
        <TextField
          label={texts.reason}
          hint={texts.reasonHint}
          value={draft.reason}
          onChange={(reason) => change({ reason })}
        />
      )}
      {type === 'shutdown' && (
        <TextField
          label={texts.delay}
          hint={texts.delayHint}
          type="number"
          min={0}
          value={draft.delay}
          onChange={(delay) => change({ delay })}
        />
      )}
      {type === 'custom' && (
        <TextArea
          label={texts.payload}
          hint={texts.payloadHint}
          error={faults.payload}
          rows={5}
          value={draft.payload}
          onChange={(payload) => change({ payload })}
        />
      )}
    </>
  );
}
