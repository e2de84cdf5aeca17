/** Outlines on a grid of 24, drawn with a line of 1.8. */
const SHAPES = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-4H4zM14 8h6V4h-6z',
  live: 'M4 12h3l2.5-6 4 12 2.5-6h4',
  people:
    'M9 11a3.5 3.5 0 100-7 3.5 3.5 0 000 7zM2.5 20c.5-3.5 3-5.5 6.5-5.5s6 2 6.5 5.5M16 4.5a3.5 3.5 0 010 6.5M17.5 14.8c2.2.6 3.6 2.4 4 5.2',
  moderation: 'M12 3l8 3v6c0 4.5-3.2 7.8-8 9.5C7.2 19.8 4 16.5 4 12V6zM9 12l2.2 2.2L15.5 10',
  bindings: 'M10 14a4 4 0 005.7 0l3-3A4 4 0 0013 5.3L12 6.3M14 10a4 4 0 00-5.7 0l-3 3a4 4 0 005.7 5.7l1-1',
  settings:
    'M4 7h9M17 7h3M15 9.5a2.5 2.5 0 100-5 2.5 2.5 0 000 5zM4 17h3M11 17h9M9 19.5a2.5 2.5 0 100-5 2.5 2.5 0 000 5z',
  commands: 'M5 7l4.5 5L5 17M12 18h7',
  staff: 'M12 7v5l3.5 2M12 21a9 9 0 100-18 9 9 0 000 18z',
  keys: 'M14.5 9.5a5 5 0 10-4.2 5L12 16h2v2h2v2h4v-3.5l-6-5.2zM8 9.5h.01',
  webhooks: 'M12 4v9M8.5 9.5L12 13l3.5-3.5M4 14v4a2 2 0 002 2h12a2 2 0 002-2v-4',
  audit: 'M7 3h8l4 4v14H7zM15 3v4h4M10 12h6M10 16h6',
  access: 'M9 11a3.5 3.5 0 100-7 3.5 3.5 0 000 7zM2.5 20c.5-3.5 3-5.5 6.5-5.5 1.6 0 3 .4 4 1.2M18 14v6M15 17h6',
  account: 'M12 12a4 4 0 100-8 4 4 0 000 8zM4.5 20.5c.8-3.7 3.7-6 7.5-6s6.7 2.3 7.5 6',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  warning:
    'M12 9v4.5M12 17h.01M10.6 4.4L2.8 18a1.6 1.6 0 001.4 2.4h15.6a1.6 1.6 0 001.4-2.4L13.4 4.4a1.6 1.6 0 00-2.8 0z',
  info: 'M12 11v5M12 8h.01M12 21a9 9 0 100-18 9 9 0 000 18z',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  search: 'M11 18a7 7 0 100-14 7 7 0 000 14zM16 16l4.5 4.5',
  plus: 'M12 5v14M5 12h14',
  sun: 'M12 16a4 4 0 100-8 4 4 0 000 8zM12 2.5v2M12 19.5v2M4.5 12h-2M21.5 12h-2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 019.5 4 8.5 8.5 0 1020 14.5z',
  chevron: 'M8 10l4 4 4-4',
  arrow: 'M5 12h14M13 6l6 6-6 6',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  refresh: 'M20 11a8 8 0 10-2.3 6.3M20 5v6h-6',
  server: 'M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
} as const;

export type IconName = keyof typeof SHAPES;

/** A decorative icon: what it means is always written next to it, or in the label of its button. */
export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true" focusable="false">
      <path
        d={SHAPES[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.8"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
