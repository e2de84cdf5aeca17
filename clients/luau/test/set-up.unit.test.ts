import { describe, expect, test } from 'vitest';
import { failure, GUILD, KEY, type PlaceOptions, type Result, startPlace, success } from './fixture.ts';

const BASE = 'baseUrl = "https://api.example.com"';

/** Makes a call, and returns its failure and what the log says. */
async function attempt(options: PlaceOptions) {
  const place = await startPlace(options);
  const result = await place.run('return guild.api.whoami(nil, { attempts = 1 })');
  return { result, warnings: place.warnings, requests: place.engine.requests.length };
}

describe('wrong settings are explained in the log and by every call', () => {
  test.each([
    ['', 'baseUrl is missing'],
    [`guildId = "${GUILD}"`, 'baseUrl is missing'],
    [`guildId = "${GUILD}", baseUrl = "api.example.com"`, 'must be an address such as https://'],
    [`guildId = "${GUILD}", baseUrl = "https://api.example.com/docs"`, 'without a path'],
    [`guildId = "${GUILD}", baseUrl = "https://api.example.com:1194"`, 'port 1194, which the engine does not allow'],
    [`guildId = "${GUILD}", baseUrl = "https://api.example.com:22"`, 'port 22, which the engine does not allow'],
    [BASE, 'guildId is missing'],
    [`guildId = ${GUILD}, ${BASE}`, 'guildId is a number'],
    [`guildId = "12", ${BASE}`, 'must be a string of 17 to 20 digits'],
    [`guildId = "900000000000000002", key = "${KEY}", ${BASE}`, `the key belongs to the guild ${GUILD}`],
    [`key = "abc", ${BASE}`, 'does not look like an API key'],
    [`guildId = "${GUILD}", key = " ", ${BASE}`, 'key is empty'],
    [`guildId = "${GUILD}", key = 5, ${BASE}`, 'key is a number'],
  ])('%s', async (settings, message) => {
    const { result, warnings, requests } = await attempt({ settings });
    expect(result).toMatchObject({ ok: false, status: 0, code: 'INVALID_SETTINGS' });
    expect(result.message).toContain(message);
    expect(warnings[0]).toContain(message);
    expect(requests).toBe(0);
  });

  test('a host and a port that the engine allows', async () => {
    const settings = `guildId = "${GUILD}", baseUrl = "https://api.example.com:8443/"`;
    const { result } = await attempt({ settings, respond: () => success({}) });
    expect(result).toMatchObject({ ok: true });
  });

  test('the key is in no message', async () => {
    const { result, warnings } = await attempt({ settings: `guildId = "900000000000000002", key = "${KEY}", ${BASE}` });
    expect(`${result.message} ${warnings.join()}`).not.toContain(KEY);
  });
});

describe('what the engine refuses is explained', () => {
  test('HTTP requests are turned off', async () => {
    const { result, warnings } = await attempt({ httpEnabled: false, studio: true });
    expect(result).toMatchObject({ ok: false, code: 'HTTP_DISABLED' });
    expect(warnings.join()).toContain('turn on Allow HTTP Requests');
  });

  test('the secret is missing, in Studio and in a published game', async () => {
    const studio = await attempt({ secrets: {}, studio: true });
    expect(studio.result).toMatchObject({ ok: false, code: 'SECRET_MISSING' });
    expect(studio.warnings.join()).toContain('Local Secrets');
    const live = await attempt({ secrets: {} });
    expect(live.result).toMatchObject({ ok: false, code: 'SECRET_MISSING' });
    expect(live.warnings.join()).toContain('Creator Dashboard');
  });

  test('another name of the secret', async () => {
    const place = await startPlace({
      secrets: { other: { value: KEY, domain: '*' } },
      settings: `guildId = "${GUILD}", secretName = "other", ${BASE}`,
    });
    expect(await place.run('return guild.api.whoami()')).toMatchObject({ ok: true });
    expect(place.engine.requests[0]?.headers).toMatchObject({ 'X-API-Key': KEY });
  });

  test('a secret that was passed by the plugin', async () => {
    const place = await startPlace({
      settings: `guildId = "${GUILD}", key = HttpService:GetSecret("guild_data_key"), ${BASE}`,
    });
    expect(await place.run('return guild.api.whoami()')).toMatchObject({ ok: true });
  });

  test('the secret belongs to another domain', async () => {
    const { result, warnings } = await attempt({ secrets: { guild_data_key: { value: KEY, domain: 'other.com' } } });
    expect(result).toMatchObject({ ok: false, code: 'SECRET_MISSING' });
    expect(warnings.join()).toContain('The domain of the secret must be that of baseUrl');
  });

  test('the host does not accept connections', async () => {
    const place = await startPlace();
    place.engine.network.down = true;
    const result = await place.run('return guild.api.whoami(nil, { attempts = 1 })');
    expect(result).toMatchObject({ ok: false, status: 0, code: 'NETWORK_ERROR' });
    expect(result.message).toContain('does not accept connections');
  });
});

describe('what the service refuses is explained', () => {
  test.each([
    [401, 'INVALID_API_KEY', 'the whole key was copied'],
    [401, 'API_KEY_EXPIRED', 'Create a new key'],
    [403, 'GUILD_MISMATCH', 'guildId must be the guild of the key'],
    [403, 'IP_NOT_ALLOWED', 'game servers have changing addresses'],
    [404, 'ROUTE_NOT_FOUND', 'the address before /api/v1'],
  ])('%i %s', async (status, code, advice) => {
    const { warnings } = await attempt({ respond: () => failure(status, code) });
    expect(warnings).toEqual([expect.stringContaining(advice)]);
  });

  test('a missing scope is named', async () => {
    const respond = () => failure(403, 'MISSING_SCOPE', {}, { required_scope: 'lookup:read' });
    const { warnings } = await attempt({ respond });
    expect(warnings.join()).toContain('the scope is lookup:read');
  });

  test('another program responds', async () => {
    const respond = () => ({ status: 200, body: `<html>${'x'.repeat(5_000)}</html>` });
    const { result, warnings } = await attempt({ respond });
    expect(result).toMatchObject({ ok: false, status: 200, code: 'INVALID_RESPONSE' });
    expect(warnings.join()).toContain('another program than the API responds there');
    expect(result.message?.length).toBeLessThan(300);
  });

  test.each([
    ['a list', '[]'],
    ['a number', '5'],
    ['another object', '{"code":200}'],
    ['half an object', '{"status":"succ'],
    ['nothing', ''],
    ['a wrong code', '{"status":"success","code":"200","data":{}}'],
  ])('a body that is %s', async (_, body) => {
    const { result } = await attempt({ respond: () => ({ status: 200, body }) });
    expect(result).toMatchObject({ ok: false, code: 'INVALID_RESPONSE' });
  });
});

test('the same line is logged once a minute, and memory for lines is bounded', async () => {
  const place = await startPlace({ respond: () => failure(401, 'INVALID_API_KEY') });
  await place.run(`
    for minute = 1, 3 do
      for call = 1, 5 do
        guild.api.whoami()
      end
      task.wait(61)
    end
    for line = 1, 2000 do
      guild.client.log.info("line " .. line)
    end`);
  expect(place.warnings).toHaveLength(3);
});

test('the log goes to onLog, and an error there is caught', async () => {
  const place = await startPlace({
    settings: `guildId = "${GUILD}", ${BASE}, onLog = function(level, message)
      table.insert(_G, level .. " " .. message)
      error("no")
    end`,
    respond: () => failure(401, 'INVALID_API_KEY'),
  });
  const lines = await place.run<string[]>('guild.api.whoami() return _G');
  expect(lines).toEqual([expect.stringContaining('warn whoami failed')]);
  expect(place.warnings).toEqual([]);
  expect(place.engine.errors).toEqual([]);
});

test('Studio is named in the advice, with the address and the guild', async () => {
  const { result, warnings } = await attempt({ studio: true, respond: () => failure(401, 'INVALID_API_KEY') });
  expect(result satisfies Result).toMatchObject({ status: 401 });
  expect(warnings.join()).toContain(`This is Studio, with baseUrl https://api.example.com and guild ${GUILD}`);
});
