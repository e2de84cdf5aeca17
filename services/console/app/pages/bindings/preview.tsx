import type { PreviewResult } from '#clients/typescript/src/operations-types.ts';
import { Progress } from '../../components/chart.tsx';
import { PersonName } from '../../components/person.tsx';
import { ErrorNote, Note } from '../../components/states.tsx';
import { previewTexts as texts } from '../../texts.ts';
import { type Effect, effectOf } from './effect.ts';
import type { JobState } from './use-job.ts';

/** The progress of a preview, then what the binding would do to everybody. */
export function Preview(props: { state: JobState; roleId: string; roleName: string }) {
  const { state, roleId, roleName } = props;
  const { job, error } = state;
  const effect = effectOf(job, roleId);
  return (
    <div class="stack" aria-live="polite">
      {error && <ErrorNote error={error} />}
      {!effect && job?.state !== 'failed' && (
        <Progress label={texts.progress} value={job?.done ?? 0} max={job?.total ?? 0} />
      )}
      {job?.state === 'paused' && <Note kind="warn">{texts.paused}</Note>}
      {job?.state === 'failed' && (
        <Note kind="bad">
          {texts.failed} {job.errors.at(-1)?.message}
        </Note>
      )}
      {effect && <EffectView effect={effect} roleName={roleName} />}
    </div>
  );
}

function EffectView({ effect, roleName }: { effect: Effect; roleName: string }) {
  const { gained, lost, unknown, members } = effect;
  const changed = (wanted: 'gained' | 'lost') => members.filter(({ change }) => change === wanted);
  return (
    <>
      <Note kind={lost > 0 ? 'warn' : 'good'}>
        <strong>{texts.sentence(gained, lost, roleName)}</strong>
      </Note>
      <Names title={texts.gained} count={gained} members={changed('gained')} />
      <Names title={texts.lost} count={lost} members={changed('lost')} />
      {unknown > 0 && <p class="hint">{texts.unknown(unknown)}</p>}
    </>
  );
}

const MAX_SHOWN = 12;

function Names(props: { title: string; count: number; members: PreviewResult['members'] }) {
  const { title, count, members } = props;
  if (count === 0) return null;
  const shown = members.slice(0, MAX_SHOWN);
  return (
    <div>
      <h3>{title}</h3>
      <ul class="names">
        {shown.map(({ chat_id, username }) => (
          <li key={chat_id}>
            <PersonName chatId={chat_id} name={username} isPlain />
          </li>
        ))}
      </ul>
      {count > shown.length && <p class="hint">{texts.more(count - shown.length)}</p>}
    </div>
  );
}
