import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { dialogTexts as texts } from '../texts.ts';
import { Button, IconButton } from './button.tsx';

export interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** The buttons at the bottom. */
  actions?: ComponentChildren;
  /** If given, the content is a form that this function receives. */
  onSubmit?: (() => void) | undefined;
  isWide?: boolean;
}

/** A modal dialog. It takes the focus, Escape closes it, and the focus returns to where it was. */
export function Dialog({ title, onClose, children, actions, onSubmit, isWide }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    // A form begins with its first field, not with the button that closes it.
    dialog.current?.querySelector<HTMLElement>('.dialog-body :is(input, textarea, select):enabled')?.focus();
    return () => before?.focus();
  }, []);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onSubmit?.();
  };
  const content = (
    <>
      <div class="dialog-body">{children}</div>
      {actions && <div class="dialog-actions">{actions}</div>}
    </>
  );
  return (
    <dialog
      ref={dialog}
      class={isWide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div class="dialog-frame">
        <header class="dialog-header">
          <h2 id={id}>{title}</h2>
          <IconButton label={texts.close} icon="close" onClick={onClose} />
        </header>
        {onSubmit ? (
          <form onSubmit={submit} noValidate>
            {content}
          </form>
        ) : (
          content
        )}
      </div>
    </dialog>
  );
}

/** The buttons of a dialog: cancel, and the action. */
export function DialogButtons(props: {
  onCancel: () => void;
  action: string;
  isBusy?: boolean;
  isDanger?: boolean;
  isDisabled?: boolean;
  onAction?: () => void;
}) {
  const { onCancel, action, isBusy, isDanger, isDisabled, onAction } = props;
  return (
    <>
      <Button onClick={onCancel}>{texts.cancel}</Button>
      <Button
        kind={isDanger ? 'danger' : 'primary'}
        type={onAction ? 'button' : 'submit'}
        isBusy={isBusy}
        disabled={isDisabled}
        onClick={onAction}
      >
        {action}
      </Button>
    </>
  );
}
