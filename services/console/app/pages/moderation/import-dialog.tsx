import { useEffect, useMemo, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Progress } from '../../components/chart.tsx';
import { Dialog, DialogButtons } from '../../components/dialog.tsx';
import { Field, TextArea, TextField } from '../../components/field.tsx';
import { PersonName } from '../../components/person.tsx';
import { Note } from '../../components/states.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { flaggedTexts as texts } from '../../texts.ts';
import { type ImportFile, parseImport, type WrongLine } from './import-file.ts';
import { type ImportRun, useImport } from './use-import.ts';

const MAX_BYTES = 2 * 1_024 * 1_024;
const MAX_SHOWN = 20;

/** Puts the players of a file on the guild's flagged list. */
export function ImportDialog({ onClose }: { onClose: () => void }) {
  const guild = useGuild();
  const [content, setContent] = useState('');
  const [reason, setReason] = useState('');
  const [category, setCategory] = useState('');
  const file = useMemo(() => parseImport(content, { reason, category }), [content, reason, category]);
  const { run, start, stop, reset } = useImport(guild.id);
  useEffect(() => stop, []);
  const isReady = file.rows.length > 0;
  const actions = run ? (
    <RunButtons
      run={run}
      onStop={stop}
      onClose={onClose}
      onAgain={() => {
        reset();
        setContent('');
      }}
    />
  ) : (
    <DialogButtons onCancel={onClose} action={texts.start(file.rows.length)} isDisabled={!isReady} />
  );
  return (
    <Dialog
      title={texts.import}
      isWide
      onClose={onClose}
      onSubmit={run ? undefined : () => void (isReady && start(file.rows))}
      actions={actions}
    >
      {run ? (
        <Run run={run} />
      ) : (
        <>
          <FileField onContent={setContent} />
          <TextArea label={texts.paste} rows={4} value={content} onChange={setContent} />
          <TextField label={texts.defaultReason} maxLength={400} value={reason} onChange={setReason} />
          <TextField label={texts.defaultCategory} maxLength={50} value={category} onChange={setCategory} />
          {content.trim() !== '' && <Preview file={file} />}
        </>
      )}
    </Dialog>
  );
}

function FileField({ onContent }: { onContent: (content: string) => void }) {
  const [fault, setFault] = useState<string>();
  const read = async (file: File | undefined) => {
    if (!file) return;
    if (file.size > MAX_BYTES) return setFault(texts.unreadable);
    try {
      const content = await file.text();
      // A file that is not text, such as a spreadsheet, has zero bytes.
      setFault(content.includes('\0') ? texts.unreadable : undefined);
      onContent(content.includes('\0') ? '' : content);
    } catch {
      setFault(texts.unreadable);
    }
  };
  return (
    <Field label={texts.file} hint={texts.fileHint} error={fault}>
      {(control) => (
        <input
          {...control}
          type="file"
          accept=".csv,.txt,.tsv,text/csv,text/plain"
          onChange={(event) => void read(event.currentTarget.files?.[0])}
        />
      )}
    </Field>
  );
}

function Preview({ file }: { file: ImportFile }) {
  const { rows, wrong } = file;
  return (
    <section class="stack" aria-label={texts.preview}>
      <Note kind={wrong.length > 0 ? 'warn' : 'good'}>{texts.summary(rows.length, wrong.length)}</Note>
      {rows.length > 0 && (
        <ul class="plain-rows">
          {rows.slice(0, MAX_SHOWN).map(({ line, gameId, username, reason, category }) => (
            <li key={line}>
              <PersonName gameId={gameId} name={username} isPlain />{' '}
              <span class="hint">{`${gameId} · ${category} · ${reason}`}</span>
            </li>
          ))}
        </ul>
      )}
      {rows.length > MAX_SHOWN && <p class="hint">{texts.more(rows.length - MAX_SHOWN)}</p>}
      <WrongLines title={texts.leftOut} lines={wrong} />
    </section>
  );
}

function WrongLines({ title, lines }: { title: string; lines: readonly WrongLine[] }) {
  if (lines.length === 0) return null;
  return (
    <div>
      <h3>{title}</h3>
      <ul class="plain-rows">
        {lines.slice(0, MAX_SHOWN).map(({ line, text, fault }) => (
          <li key={line}>
            {`${texts.line} ${line}: `}
            <code>{text.slice(0, 60)}</code> {fault}
          </li>
        ))}
      </ul>
      {lines.length > MAX_SHOWN && <p class="hint">{texts.more(lines.length - MAX_SHOWN)}</p>}
    </div>
  );
}

function Run({ run }: { run: ImportRun }) {
  const { state, total, done, failed, waitSeconds } = run;
  return (
    <div class="stack" aria-live="polite">
      <Progress label={texts.progress} value={done + failed.length} max={total} />
      {waitSeconds > 0 && <p class="hint">{texts.waiting(waitSeconds)}</p>}
      {state === 'finished' && (
        <Note kind={failed.length > 0 ? 'warn' : 'good'}>{texts.finished(done, failed.length)}</Note>
      )}
      {state === 'stopped' && <Note kind="warn">{`${texts.finished(done, failed.length)} ${texts.stopped}`}</Note>}
      <WrongLines title={texts.failures} lines={failed} />
    </div>
  );
}

function RunButtons(props: { run: ImportRun; onStop: () => void; onClose: () => void; onAgain: () => void }) {
  const { run, onStop, onClose, onAgain } = props;
  if (run.state === 'running') return <Button onClick={onStop}>{texts.stop}</Button>;
  return (
    <>
      <Button onClick={onAgain}>{texts.again}</Button>
      <Button kind="primary" onClick={onClose}>
        {texts.close}
      </Button>
    </>
  );
}
