import { useState } from 'preact/hooks';
import { dialogTexts as texts } from '../texts.ts';
import { Button } from './button.tsx';

const SHOWN_MS = 2_000;

/** Copies a text, and says for two seconds that it did. */
export function CopyButton({ text, label = texts.copy }: { text: string; label?: string }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), SHOWN_MS);
  };
  return (
    <Button icon={isCopied ? 'check' : 'copy'} onClick={() => void copy()}>
      <span aria-live="polite">{isCopied ? texts.copied : label}</span>
    </Button>
  );
}

/** A text to copy, such as a secret or a snippet of code, with its button. */
export function CopyBox({ text, label }: { text: string; label?: string }) {
  return (
    <div class="copy-box">
      {/* Focusable, so that a long line can be scrolled with the keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} {...(label && { label })} />
    </div>
  );
}
