import { describe, expect, test } from 'vitest';
import { SERVERS_PER_GUILD } from '#kit/downstream/slots.ts';
import { Admission, type Held } from './admission.ts';
import { OVERLOADS } from './overload.ts';

const newHeld = (): Held => ({ slot: 'none', sharedBy: undefined, isPoll: false });
const newAdmission = () => new Admission({ maxInFlight: 20, maxWaitingPolls: 8 });

/** Admits a request with a key of the guild, if there is a slot. */
function request(admission: Admission, guildId: string, isPoll = false) {
  const held = newHeld();
  return { held, rejection: admission.enter(held) ?? admission.share(held, guildId, isPoll) };
}

describe('requests in flight', () => {
  test('one guild may have a tenth of the slots, other guilds the rest; further requests are rejected', () => {
    const admission = newAdmission();
    for (let guild = 0; guild < 9; guild++) {
      const calls = [1, 2, 3].map(() => request(admission, `guild ${guild}`));
      expect(calls.map(({ rejection }) => rejection)).toEqual([undefined, undefined, OVERLOADS.guild]);
      admission.leave(calls[2]?.held as Held);
    }
    for (let count = 0; count < 2; count++) expect(request(admission, 'last').rejection).toBeUndefined();
    expect(admission.inFlight).toBe(20);
    expect(request(admission, 'another').rejection).toBe(OVERLOADS.in_flight);
  });

  test('leaving twice releases only one slot', () => {
    const admission = newAdmission();
    const [one] = [request(admission, 'a'), request(admission, 'a')];
    expect(request(admission, 'a').rejection).toBe(OVERLOADS.guild);
    admission.leave(one.held);
    admission.leave(one.held);
    expect(request(admission, 'a').rejection).toBeUndefined();
    expect(request(admission, 'a').rejection).toBe(OVERLOADS.guild);
  });
});

describe('requests whose body is still arriving', () => {
  test('do not count as in flight, but count towards the share of their guild', () => {
    const admission = newAdmission();
    const [one, other] = [request(admission, 'a'), request(admission, 'a')];
    for (const { held } of [one, other]) expect(admission.receive(held)).toBeUndefined();
    expect([admission.receiving, admission.inFlight]).toEqual([2, 0]);
    expect(request(admission, 'a').rejection).toBe(OVERLOADS.guild);
    admission.leave(other.held);
    admission.received(one.held);
    admission.received(other.held);
    expect(admission.receiving).toBe(0);
    admission.leave(one.held);
    // The rejected third request has not left yet.
    expect(admission.inFlight).toBe(1);
  });

  test('are limited in total', () => {
    const admission = new Admission({ maxInFlight: 2, maxWaitingPolls: 1 });
    for (const guild of ['a', 'b']) expect(admission.receive(request(admission, guild).held)).toBeUndefined();
    const third = request(admission, 'c');
    expect(third.rejection).toBeUndefined();
    expect(admission.receive(third.held)).toBe(OVERLOADS.receiving);
  });
});

describe('waiting polls', () => {
  test('count neither as in flight nor towards the in-flight share of their guild', () => {
    const admission = newAdmission();
    for (let count = 0; count < 4; count++) {
      const poll = request(admission, 'a', true);
      expect(poll.rejection).toBeUndefined();
      admission.wait(poll.held);
    }
    expect([admission.waitingPolls, admission.inFlight]).toEqual([4, 0]);
    expect(request(admission, 'a').rejection).toBeUndefined();
  });

  test('of one guild have at most half of few slots, and other guilds have the rest', () => {
    const admission = newAdmission();
    const polls = (guild: string) => Array.from({ length: 5 }, () => request(admission, guild, true));
    const [first] = [polls('a'), polls('b')];
    expect(first.map(({ rejection }) => rejection)).toEqual([...Array.from({ length: 4 }), OVERLOADS.guild_polls]);
    expect(request(admission, 'c', true).rejection).toBe(OVERLOADS.polls);
    for (const { held } of first) admission.leave(held);
    expect(request(admission, 'c', true).rejection).toBeUndefined();
  });

  test('of one guild have a slot for each of its servers by default', () => {
    const admission = new Admission({ maxInFlight: 2_000, maxWaitingPolls: 20_000 });
    for (let server = 0; server < SERVERS_PER_GUILD; server++) {
      expect(admission.share(newHeld(), 'a', true)).toBeUndefined();
    }
    expect(admission.share(newHeld(), 'a', true)).toBe(OVERLOADS.guild_polls);
  });
});

test('one address may have a tenth of the key lookups until they are settled', async () => {
  const admission = newAdmission();
  const found = [1, 2, 3].map(() => Promise.withResolvers<string>());
  const [one, other, third] = found.map(({ promise }) => admission.whileUnauthenticated('10.0.0.1', promise));
  expect(third).toBe(OVERLOADS.address);
  // Its failure is not an unhandled rejection.
  found[2]?.reject(new Error('late'));
  expect(admission.whileUnauthenticated('10.0.0.2', Promise.resolve('other'))).toBeInstanceOf(Promise);
  found[0]?.resolve('found');
  found[1]?.reject(new Error('auth is down'));
  expect(await one).toBe('found');
  await expect(other).rejects.toThrow('auth is down');
  expect(await admission.whileUnauthenticated('10.0.0.1', Promise.resolve('again'))).toBe('again');
});
