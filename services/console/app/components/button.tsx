import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.tsx';

export interface ButtonProps extends Omit<ButtonHTMLAttributes, 'icon' | 'size'> {
  /** `primary`: the one main action of a page or dialog. `danger`: destroys something. `quiet`: without a frame. */
  kind?: 'primary' | 'plain' | 'danger' | 'quiet' | undefined;
  icon?: IconName | undefined;
  /** While true the button cannot be pressed and shows that work is in progress. */
  isBusy?: boolean | undefined;
  children?: ComponentChildren;
}

/** A button; of the type `button` unless it says otherwise. */
export function Button({ kind = 'plain', icon, isBusy, children, class: more, disabled, ...others }: ButtonProps) {
  return (
    <button
      type="button"
      {...others}
      class={`button button-${kind} ${(more as string | undefined) ?? ''}`}
      disabled={disabled || isBusy}
      aria-busy={isBusy || undefined}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} size={18} />}
      {children && <span>{children}</span>}
    </button>
  );
}

/** A button that shows only an icon; `label` is its name for everybody who cannot see it. */
export function IconButton({
  label,
  icon,
  ...others
}: Omit<ButtonProps, 'children'> & { label: string; icon: IconName }) {
  return (
    <button type="button" {...others} class="icon-button" aria-label={label} title={label}>
      <Icon name={icon} />
    </button>
  );
}

/** A link that looks like a button. */
export function ButtonLink(props: {
  href: string;
  kind?: ButtonProps['kind'];
  icon?: IconName;
  children: ComponentChildren;
  target?: string;
}) {
  const { href, kind = 'plain', icon, children, target } = props;
  return (
    <a class={`button button-${kind}`} href={href} target={target} rel={target ? 'noreferrer' : undefined}>
      {icon && <Icon name={icon} size={18} />}
      <span>{children}</span>
    </a>
  );
}
