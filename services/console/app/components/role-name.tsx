/** The name of a role of the chat platform with its color. `color` is RGB as one integer; 0 is no color. */
export function RoleName({ name, color = 0 }: { name: string; color?: number | undefined }) {
  const background = color === 0 ? undefined : `#${color.toString(16).padStart(6, '0')}`;
  return (
    <span class="role-name">
      <span class="role-dot" style={background && { background }} aria-hidden="true" />
      <span>{name}</span>
    </span>
  );
}
