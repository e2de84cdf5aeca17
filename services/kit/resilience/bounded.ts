/** What goes at once: the room of its hundredth. */
const SHARE = 100;

/**
 * Drops the members that were added first once there are more than `most`. In large maps it drops a hundredth of them
 * together: to find the first member takes as long as what was dropped before it, and one by one that adds up.
 */
export function dropOldest(members: Map<unknown, unknown>, most: number): void {
  if (members.size <= most) return;
  let excess = members.size - most + Math.floor(most / SHARE);
  for (const key of members.keys()) {
    if (excess-- <= 0) return;
    members.delete(key);
  }
}
