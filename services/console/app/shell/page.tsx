import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { shellTexts } from '../texts.ts';

/** The path whose page had the focus last; undefined until the first page is shown. */
let focusedPath: string | undefined;

/**
 * The frame of every page: its heading, which also names the window, and gets the focus when the person comes from
 * another page, so that the keyboard and screen readers continue there.
 */
export function Page(props: {
  title: string;
  description?: ComponentChildren;
  /** The main actions of the page, next to the heading. */
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  const { title, description, actions, children } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  const { path } = useLocation();
  useEffect(() => {
    document.title = `${title} · ${shellTexts.product}`;
  }, [title]);
  useEffect(() => {
    if (focusedPath !== undefined && focusedPath !== path) heading.current?.focus({ preventScroll: true });
    focusedPath = path;
  }, [path]);
  return (
    <div class="page">
      <header class="page-header">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {description && <p class="page-description">{description}</p>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}
