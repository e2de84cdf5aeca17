import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startService } from '#kit/service/service.ts';
import { activityService } from '#services/activity/service.ts';
import { authService } from '#services/auth/service.ts';
import { bindingsService } from '#services/bindings/service.ts';
import { membersService } from '#services/members/service.ts';
import { moderationService } from '#services/moderation/service.ts';
import { testKeys } from '#test/system/keys.ts';

const SERVICES = ['AUTH', 'LOOKUP', 'BINDINGS', 'MEMBERS', 'ACTIVITY', 'MODERATION', 'EVENTS'];
const ENVIRONMENT = {
  ...Object.fromEntries(SERVICES.map((name) => [`${name}_GRPC_ADDRESS`, '127.0.0.1:1'])),
  ...Object.fromEntries(SERVICES.map((name) => [`${name}_HTTP_URL`, 'http://127.0.0.1:1'])),
  INTERNAL_KEYS: testKeys(),
  DATABASE_URL: 'postgres://127.0.0.1:1/none',
  CHAT_BOT_TOKEN: 'token',
  CONSOLE_URL: 'https://console.example',
  LOG_LEVEL: 'silent',
};

test('every service that calls the platforms uses PLATFORMS_CA_FILE, and does not start with a file without a certificate', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'platform-access-'));
  const file = join(folder, 'ca.pem');
  writeFileSync(file, 'no certificate');
  const environment = { ...ENVIRONMENT, PLATFORMS_CA_FILE: file };
  const error = 'PLATFORMS_CA_FILE cannot be used';
  await expect(startService(activityService, environment)).rejects.toThrow(error);
  await expect(startService(authService, environment)).rejects.toThrow(error);
  await expect(startService(bindingsService, environment)).rejects.toThrow(error);
  await expect(startService(membersService, environment)).rejects.toThrow(error);
  await expect(startService(moderationService, environment)).rejects.toThrow(error);
  rmSync(folder, { recursive: true });
});
