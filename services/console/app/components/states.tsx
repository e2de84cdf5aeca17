import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api/errors.ts';
import { stateTexts as texts } from '../texts.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';

/** What a list shows if it is empty: what would be here, and what to do to get there. */
export function EmptyState(props: {
  icon?: IconName;
  title: string;
  children?: ComponentChildren;
  action?: ComponentChildren;
}) {
  return (
    <div class="empty">
      {props.icon && <Icon name={props.icon} size={32} />}
      <p class="empty-title">{props.title}</p>
      {props.children && <p>{props.children}</p>}
      {props.action}
    </div>
  );
}

/** An error in place of what could not be loaded, or above a form. */
export function ErrorNote({ error, onRetry }: { error: ApiError; onRetry?: (() => void) | undefined }) {
  return (
    <div class="note note-bad" role="alert">
      <Icon name="warning" />
      <p>{messageOf(error)}</p>
      {onRetry && <Button onClick={onRetry}>{texts.retry}</Button>}
    </div>
  );
}

function messageOf({ code, message }: ApiError): string {
  return texts.errors[code as keyof typeof texts.errors] ?? message;
}

/** A remark with an icon: `good`, `warn`, `bad` or neutral. */
export function Note({
  kind = 'plain',
  children,
}: {
  kind?: 'plain' | 'good' | 'warn' | 'bad';
  children: ComponentChildren;
}) {
  const icon = { plain: 'info', good: 'check', warn: 'warning', bad: 'warning' } as const;
  return (
    <div class={`note note-${kind}`}>
      <Icon name={icon[kind]} />
      <div>{children}</div>
    </div>
  );
}

/** Grey bars in place of content that is being loaded, as high as the content will be. */
export function Skeleton({ rows = 3 }: { rows?: number }) {
  return (
    <div class="skeleton" role="status" aria-label={texts.loading}>
      {Array.from({ length: rows }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}

/** A short word about a state. Its text says everything; the color only helps. */
export function Badge({
  kind = 'plain',
  children,
}: {
  kind?: 'plain' | 'good' | 'warn' | 'bad' | 'accent';
  children: ComponentChildren;
}) {
  return <span class={`badge badge-${kind}`}>{children}</span>;
}

/** A frame with a heading around a part of a page. */
export function Card(props: {
  title?: ComponentChildren;
  description?: ComponentChildren;
  actions?: ComponentChildren;
  children?: ComponentChildren;
  isFlush?: boolean;
}) {
  const { title, description, actions, children, isFlush } = props;
  return (
    <section class={isFlush ? 'card card-flush' : 'card'}>
      {(title || actions) && (
        <header class="card-header">
          <div>
            {title && <h2>{title}</h2>}
            {description && <p class="hint">{description}</p>}
          </div>
          {actions && <div class="card-actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}
