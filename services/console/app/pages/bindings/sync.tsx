import { useEffect, useRef, useState } from 'preact/hooks';
import { syncGroup, syncRoles } from '#clients/typescript/src/operations.ts';
import type { Binding, PreviewResult } from '#clients/typescript/src/operations-types.ts';
import { runPaced } from '../../api/paced.ts';
import { restOf } from '../../api/rest.ts';
import { Button } from '../../components/button.tsx';
import { Progress } from '../../components/chart.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { PersonName } from '../../components/person.tsx';
import { ErrorNote, Note } from '../../components/states.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { syncTexts as texts } from '../../texts.ts';
import { useJob } from './use-job.ts';

/** Starts a sync of all members for a group, and follows it. */
export function GroupSync({ groupId }: { groupId: number | string }) {
  const { rest } = useGuild();
  const [jobId, setJobId] = useState<string>();
  const start = useAction(async () => {
    const { job_id } = await syncGroup(rest, { game_group_id: groupId });
    setJobId(job_id);
  });
  const { job, error } = useJob(jobId);
  if (jobId === undefined) {
    return (
      <>
        {start.error && <ErrorNote error={start.error} />}
        <Button kind="primary" icon="refresh" isBusy={start.isBusy} onClick={() => void start.run()}>
          {texts.start}
        </Button>
      </>
    );
  }
  const errors = job?.errors.filter(({ chat_id }) => chat_id !== null) ?? [];
  return (
    <div class="stack" aria-live="polite">
      {error && <ErrorNote error={error} />}
      <Progress label={texts.progress} value={job?.done ?? 0} max={job?.total ?? 0} />
      {(job?.state === 'running' || job?.state === 'queued') && <p class="hint">{texts.background}</p>}
      {job?.state === 'paused' && <Note kind="warn">{texts.paused}</Note>}
      {job?.state === 'failed' && (
        <Note kind="bad">
          {texts.failed} {job.errors.at(-1)?.message}
        </Note>
      )}
      {job?.state === 'done' && (
        <Note kind={job.failed > 0 ? 'warn' : 'good'}>{texts.done(job.changed, job.failed)}</Note>
      )}
      {errors.length > 0 && (
        <div>
          <h3>{texts.errors}</h3>
          <ul class="plain-rows">
            {errors.slice(0, 20).map(({ chat_id, role_id, message }) => (
              <li key={`${chat_id} ${role_id}`}>
                <PersonName chatId={chat_id} />: {message}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

/** Syncs the members of a preview one by one, for bindings that have no group to sync everybody for. */
export function MembersSync({ members }: { members: PreviewResult['members'] }) {
  const guild = useGuild();
  const chatIds = [...new Set(members.map(({ chat_id }) => chat_id))];
  const [progress, setProgress] = useState<{ done: number; failed: number }>();
  const stopper = useRef(new AbortController());
  useEffect(() => () => stopper.current.abort(), []);
  const run = async () => {
    setProgress({ done: 0, failed: 0 });
    await runPaced({
      rows: chatIds,
      work: (chatId, onHeaders) => syncRoles(restOf(guild.id, onHeaders), { chat_id: chatId }),
      onDone: (_, error) =>
        setProgress((now) => ({ done: (now?.done ?? 0) + 1, failed: (now?.failed ?? 0) + (error ? 1 : 0) })),
      signal: stopper.current.signal,
    });
  };
  if (!progress) {
    return (
      <Button kind="primary" icon="refresh" onClick={() => void run()}>
        {texts.members(chatIds.length)}
      </Button>
    );
  }
  const { done, failed } = progress;
  return (
    <div class="stack" aria-live="polite">
      <Progress label={texts.membersProgress} value={done} max={chatIds.length} />
      {done === chatIds.length && <Note kind={failed > 0 ? 'warn' : 'good'}>{texts.done(done - failed, failed)}</Note>}
    </div>
  );
}

/** Syncs everybody for one of the groups that bindings have. */
export function SyncDialog({ bindings, onClose }: { bindings: readonly Binding[]; onClose: () => void }) {
  const groups = new Map(
    bindings.flatMap(({ game_group_id, game_group_name }) =>
      game_group_id === null ? [] : [[game_group_id, game_group_name ?? String(game_group_id)] as const],
    ),
  );
  return (
    <Dialog title={texts.title} onClose={onClose} actions={<Button onClick={onClose}>{texts.close}</Button>}>
      <p>{texts.description}</p>
      {groups.size === 0 && <Note>{texts.noGroups}</Note>}
      {[...groups].map(([id, name]) => (
        <section key={id} class="stack">
          <h3>{`${texts.group} ${name}`}</h3>
          <GroupSync groupId={id} />
        </section>
      ))}
    </Dialog>
  );
}
