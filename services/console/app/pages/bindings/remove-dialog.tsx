import { useState } from 'preact/hooks';
import { addBinding, previewBinding, removeBinding } from '#clients/typescript/src/operations.ts';
import type { Binding } from '#clients/typescript/src/operations-types.ts';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { bindingsTexts as texts } from '../../texts.ts';
import { againArgs } from './binding-form.ts';
import { conditionOf, roleNameOf } from './describe.ts';
import { Preview } from './preview.tsx';
import { useJob } from './use-job.ts';

export interface RemoveDialogProps {
  binding: Binding;
  /** True if no other binding gives the role. */
  isLast: boolean;
  reload: () => void;
  onClose: () => void;
}

/** Says what removing a binding means, shows who would lose the role, and removes it. It can be taken back. */
export function RemoveDialog({ binding, isLast, reload, onClose }: RemoveDialogProps) {
  const { rest } = useGuild();
  const toasts = useToasts();
  const name = roleNameOf(binding);
  const remove = useAction(async () => {
    await removeBinding(rest, { bindingId: binding.id });
    onClose();
    reload();
    toasts.done(texts.removed, () => {
      addBinding(rest, againArgs(binding)).then(reload, toasts.failed);
    });
  });
  return (
    <Dialog
      title={texts.removeTitle(name)}
      onClose={onClose}
      actions={
        <DialogButtons
          onCancel={onClose}
          onAction={() => void remove.run()}
          action={texts.remove}
          isBusy={remove.isBusy}
          isDanger
        />
      }
    >
      <div class="consequence">
        <p>
          <strong>{conditionOf(binding)}</strong>
        </p>
        <p>{isLast ? texts.removeLast(name) : texts.removeOne(name)}</p>
      </div>
      <RemovalPreview binding={binding} roleName={name} />
      {remove.error && <ErrorNote error={remove.error} />}
    </Dialog>
  );
}

/** A button that computes who would lose the role, and then the result. */
function RemovalPreview({ binding, roleName }: { binding: Binding; roleName: string }) {
  const { rest } = useGuild();
  const [jobId, setJobId] = useState<string>();
  const job = useJob(jobId);
  const start = useAction(async () => {
    const { job_id } = await previewBinding(rest, { binding_id: binding.id, remove: true });
    setJobId(job_id);
  });
  if (jobId !== undefined) return <Preview state={job} roleId={binding.chat_role_id} roleName={roleName} />;
  return (
    <div>
      {start.error && <ErrorNote error={start.error} />}
      <Button isBusy={start.isBusy} onClick={() => void start.run()}>
        {texts.previewRemoval}
      </Button>
    </div>
  );
}
