import { expect, test } from 'vitest';
import { newKey, startPeer } from './fixtures/auth-peer.ts';
import { type Answer, type Priority, Verifier } from './verifier.ts';

async function setUp(deadlineMs?: number) {
  const { peer, clock, client } = await startPeer(deadlineMs);
  const answers: Answer[] = [];
  const verifier = new Verifier({ client, clock, answered: (_, answer) => answers.push(answer) });
  const verify = (key = newKey(), priority?: Priority) => verifier.verify(key.hashText, key, priority);
  return { peer, clock, verifier, verify, answers };
}

test('what is asked in one turn of the event loop is one message, answered in its order', async () => {
  const { peer, verify } = await setUp();
  const keys = [newKey(), newKey(), newKey()];
  const grants = keys.map((key, index) => (index === 1 ? undefined : peer.grant(key, { keyId: `id ${index}` })));
  const answers = await Promise.all(keys.map((key) => verify(key)));
  expect(answers.map(({ grant }) => grant)).toEqual(grants);
  expect(peer.messages).toEqual([keys.map(({ guildId, hash }) => ({ guildId, hash }))]);
});

test('concurrent questions about one key are one, also while it is on its way, and are answered once', async () => {
  const { peer, verify, answers } = await setUp();
  const key = newKey();
  peer.hold();
  const first = [verify(key), verify(key)];
  await expect.poll(() => peer.messages).toHaveLength(1);
  const later = verify(key);
  peer.release();
  await Promise.all([...first, later]);
  expect(peer.messages).toEqual([[expect.anything()]]);
  expect(answers).toHaveLength(1);
});

test('at most 64 keys are asked about at a time; the others follow in order', async () => {
  const { peer, verify } = await setUp();
  const keys = Array.from({ length: 150 }, newKey);
  peer.hold();
  const answers = Promise.all(keys.map((key) => verify(key)));
  await expect.poll(() => peer.messages).toHaveLength(1);
  const late = verify();
  await new Promise((resolve) => setImmediate(resolve));
  expect(peer.messages).toHaveLength(1);
  peer.release();
  await Promise.all([answers, late]);
  expect(peer.messages.map(({ length }) => length)).toEqual([64, 64, 23]);
  expect(peer.messages.flat().slice(0, 150)).toEqual(keys.map(({ guildId, hash }) => ({ guildId, hash })));
});

test('a flood of low priority takes a share of what is in flight, and no place in the queue of others', async () => {
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
  const refused = (await more).filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(34);
});

test('where too many keys wait, one more is told to try again', async () => {
  const { peer, verify } = await setUp();
  const waiting = Array.from({ length: 1_024 }, () => verify());
  await expect(verify()).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1 });
  await Promise.all(waiting);
  expect(peer.messages.flat()).toHaveLength(1_024);
});

test('a key that has waited for a second is told to try again rather than asked about', async () => {
  const { peer, clock, verify } = await setUp();
  peer.hold();
  const asked = Array.from({ length: 64 }, () => verify());
  const outcomes = Promise.allSettled([...asked, verify()]);
  await expect.poll(() => peer.messages).toHaveLength(1);
  clock.advance(1_000);
  peer.release();
  const last = (await outcomes).pop();
  expect(last).toMatchObject({ status: 'rejected', reason: { code: 'UNAVAILABLE' } });
  expect(peer.messages).toHaveLength(1);
});

test('a fault of auth, an answer too late or one left out are UNAVAILABLE, and the key can be asked about again', async () => {
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
  peer.missingAnswers = 1;
  await expect(verify(key)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  peer.missingAnswers = 0;
  await expect(verify(key)).resolves.toMatchObject({ grant: { version: 1 } });
  expect(verifier.isFailing).toBe(false);
});

test('an auth that comes back within the deadline is waited for', async () => {
  const { peer, verify } = await setUp();
  const key = newKey();
  peer.grant(key);
  await peer.stop();
  const answer = verify(key);
  await peer.start();
  await expect(answer).resolves.toMatchObject({ grant: { version: 1 } });
});

test('the newest change that is heard of while a key is asked about comes with the answer', async () => {
  const { peer, verifier, verify } = await setUp();
  const key = newKey();
  peer.hold();
  const answer = verify(key);
  await expect.poll(() => peer.messages).toHaveLength(1);
  verifier.markChanged(key.hashText, 7);
  verifier.markChanged(key.hashText, 6);
  peer.release();
  expect(await answer).toMatchObject({ changedTo: 7 });
  expect(await verify(key)).toMatchObject({ changedTo: 0 });
});

test('a probe tells whether auth answers', async () => {
  const { peer, verifier } = await setUp();
  peer.isFailing = true;
  await verifier.probe();
  expect(verifier.isFailing).toBe(true);
  peer.isFailing = false;
  await verifier.probe();
  expect(verifier.isFailing).toBe(false);
});

test('a failure says nothing of auth any more after 2.5 s', async () => {
  const { peer, clock, verifier } = await setUp();
  peer.isFailing = true;
  await verifier.probe();
  clock.advance(2_499);
  expect(verifier.isFailing).toBe(true);
  clock.advance(1);
  expect(verifier.isFailing).toBe(false);
});
