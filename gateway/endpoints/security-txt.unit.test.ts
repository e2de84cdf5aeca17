import { expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { readConfig } from '#kit/service/config.ts';
import { securityContacts } from '../config.ts';
import { securityTxt } from './security-txt.ts';

const clock = new ManualClock(Date.UTC(2026, 0, 1, 12));
const contacts = ['mailto:security@guild-data.example', 'https://guild-data.example/report'];

test('security.txt has every contact in order, the language, its canonical URL and an expiry date in the future', () => {
  const text = securityTxt({ contacts, publicUrl: 'https://api.example', clock });
  expect(text?.()).toBe(
    `Contact: mailto:security@guild-data.example
Contact: https://guild-data.example/report
Preferred-Languages: en
Canonical: https://api.example/.well-known/security.txt
Expires: 2026-06-30T00:00:00.000Z
`,
  );
  clock.advance(365 * 24 * 60 * 60 * 1000);
  expect(text?.()).toContain('Expires: 2027-06-30T00:00:00.000Z');
});

test('security.txt has no Canonical without a public URL, and does not exist without a contact', () => {
  expect(securityTxt({ contacts, publicUrl: undefined, clock })?.()).not.toContain('Canonical');
  expect(securityTxt({ contacts: [], publicUrl: 'https://api.example', clock })).toBeUndefined();
});

test.each([
  ['', []],
  ['mailto:a@b.example, https://b.example/x', ['mailto:a@b.example', 'https://b.example/x']],
])('SECURITY_CONTACT=%j is parsed as %j', (given, parsed) => {
  expect(readConfig({ SECURITY_CONTACT: securityContacts() }, { SECURITY_CONTACT: given }).SECURITY_CONTACT).toEqual(
    parsed,
  );
});

test.each(['a@b.example', 'http://b.example', 'mailto:a@b\nContact: x', 'javascript:x'])(
  'the contact %j is rejected',
  (given) => {
    expect(() => readConfig({ SECURITY_CONTACT: securityContacts() }, { SECURITY_CONTACT: given })).toThrow(
      'must hold URIs that begin with mailto:, https: or tel:',
    );
  },
);
