import { useState } from 'preact/hooks';
import { getSettings, updateSettings } from '#clients/typescript/src/operations.ts';
import type { GuildSettings } from '#clients/typescript/src/operations-types.ts';
import { useData } from '../../api/use-data.ts';
import { Button } from '../../components/button.tsx';
import { Checkbox, faultOf, TextField } from '../../components/field.tsx';
import { Card, ErrorNote, Note, Skeleton } from '../../components/states.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { Page } from '../../shell/page.tsx';
import { settingsTexts as texts } from '../../texts.ts';
import { changesOf, formOf, type SettingsForm } from './settings-form.ts';

/** What the service does by itself in the guild. */
export function SettingsPage() {
  const { rest } = useGuild();
  const stored = useData((signal) => getSettings(rest, { signal }), []);
  return (
    <Page title={texts.title} description={texts.description}>
      {stored.error && <ErrorNote error={stored.error} onRetry={stored.reload} />}
      {!stored.data && !stored.error && <Skeleton rows={6} />}
      {stored.data && <Form stored={stored.data} onSaved={(settings) => stored.setData(() => settings)} />}
    </Page>
  );
}

function Form({ stored, onSaved }: { stored: GuildSettings; onSaved: (settings: GuildSettings) => void }) {
  const guild = useGuild();
  const toasts = useToasts();
  const [form, setForm] = useState(formOf(stored));
  const mayWrite = guild.hasScope('sync:write');
  const changes = changesOf(form, stored);
  const save = useAction(async () => {
    if (changes === 'invalid' || changes === undefined) return;
    const settings = await updateSettings(guild.rest, changes);
    onSaved(settings);
    setForm(formOf(settings));
    toasts.done(texts.saved);
  });
  const field = <Name extends keyof SettingsForm>(name: Name) => ({
    disabled: !mayWrite,
    onChange: (value: SettingsForm[Name]) => setForm({ ...form, [name]: value }),
  });
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void save.run();
      }}
    >
      <Note>{mayWrite ? texts.everybody : texts.readOnly}</Note>
      <Card title={texts.roles}>
        <Checkbox
          {...field('syncOnLink')}
          label={texts.syncOnLink}
          hint={texts.syncOnLinkHint}
          checked={form.syncOnLink}
        />
        <Checkbox
          {...field('syncOnJoin')}
          label={texts.syncOnJoin}
          hint={texts.syncOnJoinHint}
          checked={form.syncOnJoin}
        />
        <Checkbox
          {...field('syncOnRankChange')}
          label={texts.syncOnRankChange}
          hint={texts.syncOnRankChangeHint}
          checked={form.syncOnRankChange}
        />
        <TextField
          {...field('template')}
          label={texts.template}
          hint={texts.templateHint}
          error={faultOf(save.error, 'nickname_template')}
          value={form.template}
        />
      </Card>
      <Card title={texts.joins}>
        <TextField
          {...field('inviteChannel')}
          label={texts.inviteChannel}
          hint={texts.inviteChannelHint}
          error={faultOf(save.error, 'invite_channel_id')}
          value={form.inviteChannel}
        />
        <Checkbox
          {...field('oauthJoin')}
          label={texts.oauthJoin}
          hint={texts.oauthJoinHint(`${location.origin}/join/${guild.id}`)}
          checked={form.oauthJoin}
        />
      </Card>
      <Card title={texts.platforms}>
        <TextField
          {...field('universes')}
          label={texts.universes}
          hint={texts.universesHint}
          error={changes === 'invalid' ? texts.universesFault : faultOf(save.error, 'mirror_bans')}
          value={form.universes}
        />
        <Checkbox {...field('excludeAlts')} label={texts.excludeAlts} checked={form.excludeAlts} />
        <Checkbox {...field('mirrorTimeouts')} label={texts.mirrorTimeouts} checked={form.mirrorTimeouts} />
        <Checkbox {...field('pushCommands')} label={texts.pushCommands} checked={form.pushCommands} />
      </Card>
      {save.error && <ErrorNote error={save.error} />}
      {mayWrite && (
        <Button kind="primary" type="submit" isBusy={save.isBusy} disabled={typeof changes !== 'object'}>
          {texts.save}
        </Button>
      )}
    </form>
  );
}
