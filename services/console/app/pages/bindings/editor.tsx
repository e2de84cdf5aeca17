import { useState } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import {
  addBinding,
  listBindings,
  listRoles,
  previewBinding,
  updateBinding,
} from '#clients/typescript/src/operations.ts';
import type { Binding, PreviewResult, Role } from '#clients/typescript/src/operations-types.ts';
import { useData } from '../../api/use-data.ts';
import { Button, ButtonLink } from '../../components/button.tsx';
import { faultOf, RadioGroup, TextField } from '../../components/field.tsx';
import { RoleName } from '../../components/role-name.tsx';
import { Card, EmptyState, ErrorNote, Skeleton } from '../../components/states.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { Page } from '../../shell/page.tsx';
import { authorityTexts, editorTexts as texts } from '../../texts.ts';
import { addArgs, type BindingForm, faultsOf, formOf, NEW_BINDING, previewArgs, updateArgs } from './binding-form.ts';
import { ConditionFields } from './condition-fields.tsx';
import { roleNameOf } from './describe.ts';
import { effectOf } from './effect.ts';
import { FurtherConditions } from './further-conditions.tsx';
import { Preview } from './preview.tsx';
import { RolePicker } from './role-picker.tsx';
import { Saved } from './saved.tsx';
import { type JobState, useJob } from './use-job.ts';

/** Adds a binding, or changes the one whose ID is in the URL. */
export function BindingEditorPage() {
  const { params } = useRoute();
  const guild = useGuild();
  const id = params['bindingId'];
  const { data, error, reload } = useData(async (signal) => {
    const [{ bindings }, { roles }] = await Promise.all([
      listBindings(guild.rest, { signal }),
      listRoles(guild.rest, { signal }),
    ]);
    return { bindings, roles };
  }, []);
  const stored = data?.bindings.find((binding) => String(binding.id) === id);
  const title = stored ? texts.editTitle(roleNameOf(stored)) : texts.addTitle;
  return (
    <Page
      title={title}
      description={texts.addDescription}
      actions={
        <ButtonLink kind="quiet" href={guild.path('bindings')}>
          {texts.back}
        </ButtonLink>
      }
    >
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton rows={8} />}
      {data && id !== undefined && !stored && (
        <EmptyState icon="bindings" title={texts.missingTitle}>
          {texts.missing}
        </EmptyState>
      )}
      {data && (id === undefined || stored) && (
        <Editor key={id} roles={data.roles} bindings={data.bindings} stored={stored} />
      )}
    </Page>
  );
}

const AUTHORITIES = Object.keys(authorityTexts) as BindingForm['authority'][];

interface EditorProps {
  roles: readonly Role[];
  bindings: readonly Binding[];
  stored: Binding | undefined;
}

function Editor({ roles, bindings, stored }: EditorProps) {
  const editor = useEditor(stored);
  const { form, change, faults, saved, serverFault } = editor;
  if (saved) return <Saved binding={saved} members={editor.members} onAnother={editor.restart} />;
  const roleName = roles.find(({ id }) => id === form.roleId)?.name ?? (stored ? roleNameOf(stored) : '');
  return (
    <div class="stack editor">
      <Card title={texts.roleStep}>
        {stored ? (
          <RoleName name={roleName} color={roles.find(({ id }) => id === form.roleId)?.color} />
        ) : (
          <RolePicker
            roles={roles}
            value={form.roleId}
            onChange={(roleId) => change({ roleId })}
            error={faults.roleId ?? serverFault('chat_role_id')}
          />
        )}
      </Card>
      <Card title={texts.conditionStep}>
        <ConditionFields
          form={form}
          change={change}
          faults={faults}
          isStored={stored !== undefined}
          bindings={bindings}
        />
        <FurtherConditions
          conditions={form.conditions}
          onChange={(conditions) => change({ conditions })}
          faults={faults.conditions ?? []}
          error={serverFault('conditions')}
          bindings={bindings}
        />
        <TextField
          label={texts.priority}
          hint={texts.priorityHint}
          error={faults.priority ?? serverFault('priority')}
          value={form.priority}
          onChange={(text) => change({ priority: text.trim() })}
        />
        <RadioGroup
          label={texts.authority}
          value={form.authority}
          onChange={(authority) => change({ authority })}
          options={AUTHORITIES.map((value) => ({ value, ...authorityTexts[value] }))}
        />
        <TextField
          label={texts.nickname}
          hint={texts.nicknameHint}
          error={serverFault('nickname_template')}
          value={form.nicknameTemplate}
          onChange={(nicknameTemplate) => change({ nicknameTemplate })}
        />
      </Card>
      <PreviewCard editor={editor} roleName={roleName} />
    </div>
  );
}

function PreviewCard({ editor, roleName }: { editor: ReturnType<typeof useEditor>; roleName: string }) {
  const { preview, save, job, isPreviewed, hasPreview, form } = editor;
  return (
    <Card title={texts.previewStep} description={texts.previewHint}>
      {preview.error && <ErrorNote error={preview.error} />}
      {hasPreview && isPreviewed && <Preview state={job} roleId={form.roleId} roleName={roleName} />}
      {hasPreview && !isPreviewed && <p class="hint">{texts.outdated}</p>}
      {save.error && <ErrorNote error={save.error} />}
      <div class="row-actions">
        <Button kind={editor.isReady ? 'plain' : 'primary'} isBusy={preview.isBusy} onClick={() => void preview.run()}>
          {hasPreview ? texts.previewAgain : texts.preview}
        </Button>
        <Button kind={editor.isReady ? 'primary' : 'quiet'} isBusy={save.isBusy} onClick={() => void save.run()}>
          {editor.isReady ? texts.save : texts.saveUnseen}
        </Button>
      </div>
    </Card>
  );
}

/** The state of the editor: the form, its preview, and what was saved. */
function useEditor(stored: Binding | undefined) {
  const { rest } = useGuild();
  const [form, setForm] = useState<BindingForm>(stored ? formOf(stored) : NEW_BINDING);
  const [isChecked, setIsChecked] = useState(false);
  const [started, setStarted] = useState<{ jobId: string; form: BindingForm }>();
  const [saved, setSaved] = useState<Binding>();
  const job: JobState = useJob(started?.jobId);
  const isFit = () => {
    setIsChecked(true);
    return Object.keys(faultsOf(form)).length === 0;
  };
  const preview = useAction(async () => {
    if (!isFit()) return;
    setStarted(undefined);
    const { job_id } = await previewBinding(rest, previewArgs(form, stored));
    setStarted({ jobId: job_id, form });
  });
  const save = useAction(async () => {
    if (!isFit()) return;
    setSaved(stored ? await updateBinding(rest, updateArgs(form, stored)) : await addBinding(rest, addArgs(form)));
  });
  const isPreviewed = started?.form === form;
  const effect = isPreviewed ? effectOf(job.job, form.roleId) : undefined;
  const members: PreviewResult['members'] = effect?.members ?? [];
  return {
    form,
    change: (changed: Partial<BindingForm>) => setForm((now) => ({ ...now, ...changed })),
    faults: isChecked ? faultsOf(form) : {},
    serverFault: (field: string) => faultOf(preview.error, field) ?? faultOf(save.error, field),
    preview,
    save,
    job,
    /** True if the preview is of what the form has now. */
    isPreviewed,
    hasPreview: started !== undefined,
    /** True if the person has seen what would happen. */
    isReady: effect !== undefined,
    saved,
    /** The members whom the preview named, up to 100. */
    members,
    restart: () => {
      setForm(NEW_BINDING);
      setIsChecked(false);
      setStarted(undefined);
      setSaved(undefined);
    },
  };
}
