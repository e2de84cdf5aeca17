import { useRef, useState } from 'preact/hooks';
import { flagPlayer } from '#clients/typescript/src/operations.ts';
import { runPaced } from '../../api/paced.ts';
import { restOf } from '../../api/rest.ts';
import type { ImportRow, WrongLine } from './import-file.ts';

export interface ImportRun {
  state: 'running' | 'finished' | 'stopped';
  total: number;
  done: number;
  failed: readonly WrongLine[];
  /** Seconds that the import waits for the rate limit. */
  waitSeconds: number;
}

/** Puts the players of a file on the flagged list, and reports the result of each line. */
export function useImport(guildId: string) {
  const [run, setRun] = useState<ImportRun>();
  const controller = useRef<AbortController>(undefined);
  const change = (changed: (now: ImportRun) => Partial<ImportRun>) =>
    setRun((now) => now && { ...now, ...changed(now) });
  const start = async (rows: readonly ImportRow[]) => {
    const stopper = new AbortController();
    controller.current = stopper;
    setRun({ state: 'running', total: rows.length, done: 0, failed: [], waitSeconds: 0 });
    await runPaced({
      rows,
      work: ({ gameId, reason, category, username }, onHeaders) =>
        flagPlayer(restOf(guildId, onHeaders), { gameId, reason, category, game_username: username }),
      onDone: ({ line, gameId }, error) =>
        change(({ done, failed }) =>
          error
            ? { failed: [...failed, { line, text: gameId, fault: error.message }], waitSeconds: 0 }
            : { done: done + 1, waitSeconds: 0 },
        ),
      onWait: (ms) => change(() => ({ waitSeconds: Math.ceil(ms / 1_000) })),
      signal: stopper.signal,
    });
    change(() => ({ state: stopper.signal.aborted ? 'stopped' : 'finished', waitSeconds: 0 }));
  };
  return { run, start, stop: () => controller.current?.abort(), reset: () => setRun(undefined) };
}
