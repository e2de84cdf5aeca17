import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { failWrites } from '#test/postgres/failing-table.ts';
import { cacheLink, LookupReplicas } from './fixture.ts';

describe.each(['redis', 'database'] as const)('with removals announced over %s', (over) => {
  const replicas = new LookupReplicas(over);
  let first: RunningService;
  let other: RunningService;
  beforeAll(async () => {
    await replicas.start();
    [first, other] = await Promise.all([replicas.startReplica(), replicas.startReplica()]);
  });
  afterAll(() => replicas.stop());
  beforeEach(() => replicas.useNewGuild());

  test('a removed link is gone at once in the replica that removed it, and soon in others; a new one is found at once', async () => {
    expect(await replicas.statusesAt(other)).toEqual([404, 404]);
    await replicas.linkAt(first);
    expect(await replicas.statusesAt(other)).toEqual([200, 200]);
    await cacheLink(replicas, first, other);
    await replicas.unlinkAt(first);
    expect(await replicas.statusesAt(first)).toEqual([404, 404]);
    await expect.poll(() => replicas.statusesAt(other)).toEqual([404, 404]);
  });

  test('a repeat of a removal invalidates the link, because the replica that removed it may not have announced that', async () => {
    const operationId = randomUUID();
    await replicas.linkAt(first);
    await cacheLink(replicas, first, other);
    await replicas.unlinkSilently(operationId);
    expect(await replicas.statusesAt(other)).toEqual([200, 200]);
    await replicas.unlinkAt(other, operationId);
    expect(await replicas.statusesAt(other)).toEqual([404, 404]);
    await expect.poll(() => replicas.statusesAt(first)).toEqual([404, 404]);
  });

  test('the links of an erased user are gone in every replica', async () => {
    await replicas.linkAt(first);
    await cacheLink(replicas, first, other);
    await replicas.eraseUserAt(first);
    expect(await replicas.statusesAt(first)).toEqual([404, 404]);
    await expect.poll(() => replicas.statusesAt(other)).toEqual([404, 404]);
  });

  test('after a removal whose outcome is unknown, every replica reads the link from the database again', async () => {
    await replicas.linkAt(first);
    await cacheLink(replicas, first, other);
    const end = await failWrites(replicas.database.url, 'lookup.links', replicas.guildId, 'commit');
    await expect(replicas.unlinkAt(first)).rejects.toMatchObject({ code: 'INTERNAL' });
    await end();
    for (const at of [first, other]) {
      const before = await replicas.readsOf(at);
      const readsAfterLookups = async () => {
        expect(await replicas.statusesAt(at)).toEqual([200, 200]);
        return replicas.readsOf(at);
      };
      await expect.poll(readsAfterLookups).toBe(before + 2);
    }
  });
});
