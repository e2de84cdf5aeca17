import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useMemo, useRef, useState } from 'preact/hooks';
import { asApiError } from '../api/use-data.ts';
import { dialogTexts as texts } from '../texts.ts';
import { Button, IconButton } from './button.tsx';
import { Icon } from './icon.tsx';

export interface Toasts {
  /** Says that something was done. With `undo` it has a button that takes it back. */
  done: (message: string, undo?: () => void) => void;
  /** Says what went wrong. */
  failed: (error: unknown) => void;
}

interface Toast {
  id: number;
  kind: 'done' | 'failed';
  message: string;
  undo?: (() => void) | undefined;
}

const SHOWN_MS = { done: 6_000, failed: 12_000 };
const WITH_UNDO_MS = 12_000;
const MAX_SHOWN = 3;

const Context = createContext<Toasts>({ done: () => undefined, failed: () => undefined });

/** Short messages about what was done, at the edge of the window. */
export const useToasts = (): Toasts => useContext(Context);

export function ToastProvider({ children }: { children: ComponentChildren }) {
  const [shown, setShown] = useState<readonly Toast[]>([]);
  const lastId = useRef(0);
  const remove = useCallback((id: number) => setShown((all) => all.filter((toast) => toast.id !== id)), []);
  const toasts = useMemo<Toasts>(() => {
    const add = (toast: Omit<Toast, 'id'>) => {
      const id = ++lastId.current;
      setShown((all) => [...all.slice(1 - MAX_SHOWN), { ...toast, id }]);
      setTimeout(() => remove(id), toast.undo ? WITH_UNDO_MS : SHOWN_MS[toast.kind]);
    };
    return {
      done: (message, undo) => add({ kind: 'done', message, undo }),
      failed: (error) => add({ kind: 'failed', message: asApiError(error).message }),
    };
  }, []);
  return (
    <Context.Provider value={toasts}>
      {children}
      <div class="toasts" role="status" aria-live="polite">
        {shown.map(({ id, kind, message, undo }) => (
          <div key={id} class={`toast toast-${kind}`}>
            <Icon name={kind === 'done' ? 'check' : 'warning'} />
            <p>{message}</p>
            {undo && (
              <Button
                kind="quiet"
                onClick={() => {
                  remove(id);
                  undo();
                }}
              >
                {texts.undo}
              </Button>
            )}
            <IconButton label={texts.dismiss} icon="close" onClick={() => remove(id)} />
          </div>
        ))}
      </div>
    </Context.Provider>
  );
}
