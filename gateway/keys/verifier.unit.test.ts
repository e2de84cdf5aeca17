import { expect, test } from 'vitest';
import { newKey, startPeer } from './fixtures/auth-peer.ts';
import { type LookupResult, type Priority, Verifier } from './verifier.ts';

async function setUp(deadlineMs?: number) {
  const { peer, clock, client } = await startPeer(deadlineMs);
  const results: LookupResult[] = [];
  const verifier = new Verifier({ client, clock, onResult: (_, result) => results.push(result) });
  const verify = (key = newKey(), priority?: Priority) => verifier.verify(key.hashText, key, priority);
  return { peer, clock, verifier, verify, results };
}

test('lookups of one turn of the event loop are sent in one message, and results have the same order', async () => {
  const { peer, verify } = await setUp();
  const keys = [newKey(), newKey(), newKey()];
  const grants = keys.map((key, index) => (index === 1 ? undefined : peer.grant(key, { keyId: `id ${index}` })));
  const results = await Promise.all(keys.map((key) => verify(key)));
  expect(results.map(({ grant }) => grant)).toEqual(grants);
  expect(peer.messages).toEqual([keys.map(({ guildId, hash }) => ({ guildId, hash }))]);
});

test('a key that auth could not read is rejected with UNAVAILABLE, and the other keys of its message get their results', async () => {
  const { peer, verifier, verify } = await setUp();
  const [readable, unreadable] = [newKey(), newKey('900000000000000002')];
  const grant = peer.grant(readable);
  peer.grant(unreadable);
  peer.unavailableGuilds.add(unreadable.guildId);
  const [known, failed] = await Promise.allSettled([verify(readable), verify(unreadable)]);
  expect(known).toMatchObject({ value: { grant } });
  expect(failed).toMatchObject({ reason: { code: 'UNAVAILABLE' } });
  expect(verifier.isFailing).toBe(false);
  expect(peer.messages).toHaveLength(1);
});

test('concurrent lookups of one key are sent once, and have one result', async () => {
  const { peer, verify, results } = await setUp();
  const key = newKey();
  peer.hold();
  const first = [verify(key), verify(key)];
  await expect.poll(() => peer.messages).toHaveLength(1);
  const later = verify(key);
  peer.release();
  await Promise.all([...first, later]);
  expect(peer.messages).toEqual([[expect.anything()]]);
  expect(results).toHaveLength(1);
});

test('at most 64 keys are in flight; the others follow in order', async () => {
  const { peer, verify } = await setUp();
  const keys = Array.from({ length: 150 }, newKey);
  peer.hold();
  const results = Promise.all(keys.map((key) => verify(key)));
  await expect.poll(() => peer.messages).toHaveLength(1);
  const late = verify();
  await new Promise((resolve) => setImmediate(resolve));
  expect(peer.messages).toHaveLength(1);
  peer.release();
  await Promise.all([results, late]);
  expect(peer.messages.map(({ length }) => length)).toEqual([64, 64, 23]);
  expect(peer.messages.flat().slice(0, 150)).toEqual(keys.map(({ guildId, hash }) => ({ guildId, hash })));
});

test('low priority lookups have their own queue and only a share of the lookups in flight', async () => {
  const { peer, verify } = await setUp();
  peer.hold();
  const flood = Array.from({ length: 256 }, () => verify(newKey(), 'low'));
  await expect.poll(() => peer.messages).toHaveLength(1);
  const more = Promise.allSettled(Array.from({ length: 50 }, () => verify(newKey(), 'low')));
  const others = Array.from({ length: 48 }, newKey);
  const first = Promise.all(others.map((key) => verify(key)));
  await expect.poll(() => peer.messages).toHaveLength(2);
  expect(peer.messages[0]).toHaveLength(16);
  expect(peer.messages[1]).toEqual(others.map(({ guildId, hash }) => ({ guildId, hash })));
  peer.release();
  await Promise.all([first, ...flood]);
  const rejected = (await more).filter(({ status }) => status === 'rejected');
  expect(rejected).toHaveLength(34);
});

test('a lookup is rejected with UNAVAILABLE while the queue is full', async () => {
  const { peer, verify } = await setUp();
  const waiting = Array.from({ length: 1_024 }, () => verify());
  await expect(verify()).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  await Promise.all(waiting);
  expect(peer.messages.flat()).toHaveLength(1_024);
});

test('a lookup that was queued for a second is rejected with UNAVAILABLE and not sent', async () => {
  const { peer, clock, verify } = await setUp();
  peer.hold();
  const inFlight = Array.from({ length: 64 }, () => verify());
  const outcomes = Promise.allSettled([...inFlight, verify()]);
  await expect.poll(() => peer.messages).toHaveLength(1);
  clock.advance(1_000);
  peer.release();
  const last = (await outcomes).pop();
  expect(last).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE' } });
  expect(peer.messages).toHaveLength(1);
});

test('an error of auth, a timeout or a missing result is UNAVAILABLE, and a later lookup succeeds', async () => {
  const { peer, verifier, verify } = await setUp(200);
  const key = newKey();
  peer.grant(key);
  peer.isFailing = true;
  await expect(verify(key)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  expect(verifier.isFailing).toBe(true);
  peer.isFailing = false;
  peer.hold();
  await expect(verify(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  peer.release();
  peer.missingResults = 1;
  await expect(verify(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  peer.missingResults = 0;
  await expect(verify(key)).resolves.toMatchObject({ grant: { version: 1 } });
  expect(verifier.isFailing).toBe(false);
});

test('a lookup succeeds if auth is reachable again within the deadline', async () => {
  const { peer, verify } = await setUp();
  const key = newKey();
  peer.grant(key);
  await peer.stop();
  const result = verify(key);
  await peer.start();
  await expect(result).resolves.toMatchObject({ grant: { version: 1 } });
});

test('a result has the version of the newest change received during the lookup', async () => {
  const { peer, verifier, verify } = await setUp();
  const key = newKey();
  peer.hold();
  const result = verify(key);
  await expect.poll(() => peer.messages).toHaveLength(1);
  verifier.markChanged(key.hashText, 7);
  verifier.markChanged(key.hashText, 6);
  peer.release();
  expect(await result).toMatchObject({ changedVersion: 7 });
  expect(await verify(key)).toMatchObject({ changedVersion: 0 });
});

test('a probe detects whether auth responds', async () => {
  const { peer, verifier } = await setUp();
  peer.isFailing = true;
  await verifier.probe();
  expect(verifier.isFailing).toBe(true);
  peer.isFailing = false;
  await verifier.probe();
  expect(verifier.isFailing).toBe(false);
});

test('auth no longer counts as failing 2.5 s after a failure', async () => {
  const { peer, clock, verifier } = await setUp();
  peer.isFailing = true;
  await verifier.probe();
  clock.advance(2_499);
  expect(verifier.isFailing).toBe(true);
  clock.advance(1);
  expect(verifier.isFailing).toBe(false);
});
