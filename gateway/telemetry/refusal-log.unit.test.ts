import { expect, test } from 'vitest';
import { requestContext } from '#kit/context.ts';
import { ERRORS } from '#kit/errors.ts';
import { requestIdOf } from '#kit/http/request-id.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { RefusalLog } from './refusal-log.ts';

const told = { method: 'GET', code: 401, ms: 0.3 };
const refusal = 'INVALID_API_KEY';

/** The lines that are written, without their times. */
async function linesOf(requestId: string, level = 'info') {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line.replace(/"time":"[\d:.TZ-]{24}"/, '"time"')) };
  const log = await createLog({ service: 'gateway', level, destination });
  const context = { requestId, route: 'lookup.game' };
  requestContext.run(context, () => log.info({ ...told, refusal }, 'refused'));
  new RefusalLog(log).refused(context, told, refusal);
  return lines;
}

test('the line of a refusal is what the log would have written', async () => {
  const [byLog, line] = await linesOf('4e0d-a.b_c');
  expect(line).toBe(byLog);
  expect(line).toContain('"level":"info","time","service":"gateway","request_id":"4e0d-a.b_c","route":"lookup.game"');
});

test('a key that was sent as request ID is in no line', async () => {
  const [byLog, line] = await linesOf(`service_200000000000000001_${'Ab1'.repeat(12)}Zz`);
  expect(line).toBe(byLog);
  expect(line).toContain('"request_id":"service_200000000000000001_Ab1Ab1***"');
});

test('what a line tells of a request holds no character that JSON escapes', () => {
  const anyCharacter = Array.from({ length: 0x300 }, (_, code) => requestIdOf(`a${String.fromCharCode(code)}`));
  for (const text of [...anyCharacter, ...ROUTES.map(({ name }) => name), ...Object.keys(ERRORS)]) {
    expect(JSON.stringify(text)).toBe(`"${text}"`);
  }
});

test('nothing is written where the level is above', async () => {
  expect(await linesOf('a', 'warn')).toEqual([]);
});
