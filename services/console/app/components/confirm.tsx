import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useState } from 'preact/hooks';
import { Dialog, DialogButtons } from './dialog.tsx';

export interface Question {
  title: string;
  /** What happens if the person goes on: who or what is affected, and whether it can be taken back. */
  consequence: ComponentChildren;
  /** The verb on the button, such as `Remove access`. */
  action: string;
  isDanger?: boolean;
}

type Ask = (question: Question) => Promise<boolean>;
const Context = createContext<Ask>(() => Promise.resolve(false));

/** Asks before something is done: `if (await confirm({ title, consequence, action })) …`. */
export const useConfirm = (): Ask => useContext(Context);

/** Shows the questions of all components below. */
export function ConfirmProvider({ children }: { children: ComponentChildren }) {
  const [open, setOpen] = useState<{ question: Question; answer: (isSure: boolean) => void }>();
  const ask = useCallback(
    (question: Question) => new Promise<boolean>((resolve) => setOpen({ question, answer: resolve })),
    [],
  );
  const close = (isSure: boolean) => {
    setOpen(undefined);
    open?.answer(isSure);
  };
  return (
    <Context.Provider value={ask}>
      {children}
      {open && (
        <Dialog
          title={open.question.title}
          onClose={() => close(false)}
          actions={
            <DialogButtons
              onCancel={() => close(false)}
              onAction={() => close(true)}
              action={open.question.action}
              isDanger={open.question.isDanger ?? true}
            />
          }
        >
          <div class="consequence">{open.question.consequence}</div>
        </Dialog>
      )}
    </Context.Provider>
  );
}
