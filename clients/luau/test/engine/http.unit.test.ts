import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from './clock.ts';
import { createEngine, type Engine, type EngineOptions, Universe } from './engine.ts';

const CAUGHT = 'local HttpService = game:GetService("HttpService") local ok, result = pcall(function() ';
const RETURN = ' end) return { ok, if ok then result else tostring(result) }';

async function start(options: EngineOptions = {}): Promise<{ engine: Engine; clock: VirtualClock }> {
  const clock = new VirtualClock();
  const engine = await createEngine({ universe: new Universe({ clock }), ...options });
  onTestFinished(() => engine.crash());
  return { engine, clock };
}

/** A server on loopback that remembers the requests. */
async function listen(): Promise<{ url: string; received: { request: IncomingMessage; body: Buffer }[] }> {
  const received: { request: IncomingMessage; body: Buffer }[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    received.push({ request, body: await buffer(request) });
    if (request.url === '/hang') return;
    response.writeHead(201, { 'X-Mixed-Case': 'Value', 'Content-Type': 'application/json' });
    response.end('{"data":{"name":"\\u00e9\\ud83d\\ude00","list":[]}}');
  };
  const server = createServer((request, response) => {
    void respond(request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

test('RequestAsync sends a real request and returns lower-case header names', async () => {
  const { engine } = await start({ game: { PlaceId: 9 } });
  const { url, received } = await listen();
  const source = `local HttpService = game:GetService("HttpService")
    local response = HttpService:RequestAsync({
      Url = "${url}/players?x=1", Method = "POST", Headers = { ["Content-Type"] = "application/json" },
      Body = HttpService:JSONEncode({ a = 1 }),
    })
    return { response.Success, response.StatusCode, response.StatusMessage, response.Headers["x-mixed-case"],
      HttpService:JSONDecode(response.Body).data.name }`;
  expect(await engine.run(source)).toEqual([true, 201, 'Created', 'Value', 'é😀']);
  expect(received[0]?.request).toMatchObject({ method: 'POST', url: '/players?x=1' });
  expect(received[0]?.request.headers).toMatchObject({
    'user-agent': 'Roblox/Linux',
    'roblox-id': '9',
    'content-length': '7',
  });
  expect(received[0]?.body.toString()).toBe('{"a":1}');
  expect(engine.requests[0]).toMatchObject({ method: 'POST', url: `${url}/players?x=1`, status: 201 });
});

test('a body is compressed on request', async () => {
  const { engine } = await start();
  const { url, received } = await listen();
  await engine.run(`game:GetService("HttpService"):RequestAsync({
    Url = "${url}", Method = "PUT", Body = string.rep("a", 5000), Compress = Enum.HttpCompression.Gzip })`);
  expect(received[0]?.request.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(received[0]?.body as Buffer).toString()).toBe('a'.repeat(5000));
});

test.each([
  ['Headers = { ["User-Agent"] = "x" }', 'Header "User-Agent" is not allowed!'],
  ['Headers = { ["roblox-id"] = "1" }', 'is not allowed!'],
  ['Headers = { ["Content-Length"] = "1" }', 'is not allowed!'],
  ['Headers = { Number = 1 }', 'must be a string or a Secret'],
  ['Headers = { Line = "a\\r\\nB: c" }', 'invalid characters'],
  ['Body = "x"', 'Request body is not allowed for GET requests'],
  ['Method = "HEAD", Body = "x"', 'Request body is not allowed for HEAD requests'],
  ['Method = "POST", Body = {}', 'Body must be a string'],
  ['Method = "BREW"', 'Unsupported HTTP method BREW'],
  ['Url = "ftp://127.0.0.1"', 'HttpError: InvalidUrl'],
  ['Url = "http://127.0.0.1:22"', 'HttpError: ERR_ACCESS_DENIED'],
  ['Url = "http://127.0.0.1:1194"', 'HttpError: ERR_ACCESS_DENIED'],
])('RequestAsync refuses { %s }', async (fields, message) => {
  const { engine } = await start();
  const { url, received } = await listen();
  const source = `${CAUGHT} local request = { Url = "${url}" }
    for key, value in { ${fields} } do request[key] = value end
    return HttpService:RequestAsync(request) ${RETURN}`;
  const [ok, text] = await engine.run<[boolean, string]>(source);
  expect(ok).toBe(false);
  expect(text).toContain(message);
  expect(received).toHaveLength(0);
});

test('requests fail while HTTP requests are not allowed', async () => {
  const { engine } = await start({ httpEnabled: false });
  const source = `${CAUGHT} return HttpService:RequestAsync({ Url = "http://127.0.0.1:9999" }) ${RETURN}`;
  expect((await engine.run<string[]>(source))[1]).toContain('Http requests are not enabled');
});

test('a secret goes into URL and headers, only to its domain, and cannot be read', async () => {
  const { engine } = await start({
    secrets: { key: { value: 's3cret', domain: '127.0.0.1' }, other: { value: 'x', domain: '*.example.org' } },
  });
  const { url, received } = await listen();
  const source = `local HttpService = game:GetService("HttpService")
    local key = HttpService:GetSecret("key")
    print(key)
    local response = HttpService:RequestAsync({ Url = key:AddPrefix("${url}/?k="), Headers = { Authorization = key:AddPrefix("Bearer "):AddSuffix("!") } })
    local function refused(work) return (select(2, pcall(work))) end
    return {
      response.StatusCode, typeof(key),
      refused(function() return key .. "x" end),
      refused(function() return HttpService:JSONEncode({ key = key }) end),
      refused(function() return #key end),
      refused(function() return key.Value end),
      refused(function() return HttpService:RequestAsync({ Url = "${url}", Method = "POST", Body = key }) end),
      refused(function() return HttpService:RequestAsync({ Url = "${url}", Headers = { Authorization = HttpService:GetSecret("other") } }) end),
      refused(function() return HttpService:GetSecret("missing") end),
      string.find(HttpService:GenerateGUID(false), "^%x+%-%x+%-4%x+%-%x+%-%x+$") ~= nil,
    }`;
  const result = await engine.run<string[]>(source);
  expect(result.slice(0, 2)).toEqual([201, 'Secret']);
  expect(received[0]?.request.url).toBe('/?k=s3cret');
  expect(received[0]?.request.headers.authorization).toBe('Bearer s3cret!');
  expect(result[2]).toContain('attempt to concatenate');
  expect(result[3]).toContain("Can't convert to JSON");
  expect(result[4]).toContain('attempt to get length');
  expect(result[5]).toContain('Value is not a valid member of Secret');
  expect(result[6]).toContain('Body must be a string, got Secret');
  expect(result[7]).toContain('Secret is not allowed for the domain 127.0.0.1');
  expect(result[8]).toContain('Secret with the name missing was not found');
  expect(result[9]).toBe(true);
  expect(received).toHaveLength(1);
  expect(JSON.stringify(engine.output)).not.toContain('s3cret');
});

test('JSON: an empty table is an array, nil keys vanish, and what JSON cannot express is refused', async () => {
  const { engine } = await start();
  const source = `local HttpService = game:GetService("HttpService")
    local function refused(value) return (select(2, pcall(HttpService.JSONEncode, HttpService, value))) end
    local loop = {} loop.self = loop
    return {
      HttpService:JSONEncode({}), HttpService:JSONEncode({ list = {}, gone = nil, text = 'a"\\n\\1' }) ,
      HttpService:JSONEncode({ 1, "b", true, 2.5, 12345678901 }), HttpService:JSONEncode(math.huge),
      refused(print), refused(loop), refused("\\255"), refused({ [Enum] = 1 }),
      HttpService:JSONDecode('{"a":[1,null,3],"b":null,"c":"\\\\u0041\\\\/"}'), (select(2, pcall(HttpService.JSONDecode, HttpService, "{"))),
    }`;
  const result = await engine.run<string[]>(source);
  expect(result[0]).toBe('[]');
  expect(JSON.parse(result[1] as string)).toEqual({ list: [], text: 'a"\n\u0001' });
  expect(result[2]).toBe('[1,"b",true,2.5,12345678901]');
  expect(result[3]).toBe('inf');
  for (const message of result.slice(4, 8)) expect(message).toContain("Can't convert to JSON");
  expect(result[8]).toMatchObject({ c: 'A/' });
  expect(result[9]).toContain("Can't parse JSON");
});

test('at most 500 requests a minute: further ones stall for 30 seconds and fail', async () => {
  let sent = 0;
  const transport = async () => {
    sent++;
    return await Promise.resolve({ status: 200, message: 'OK', headers: {}, body: '' });
  };
  const { engine, clock } = await start({ transport });
  const source = `local HttpService = game:GetService("HttpService")
    for _ = 1, 500 do HttpService:RequestAsync({ Url = "http://gateway.test:8080" }) end
    local begun = os.clock()
    local ok, message = pcall(HttpService.RequestAsync, HttpService, { Url = "http://gateway.test:8080" })
    local stalled = os.clock() - begun
    task.wait(31)
    return { ok, message, stalled, (pcall(HttpService.RequestAsync, HttpService, { Url = "http://gateway.test:8080" })) }`;
  const [ok, message, stalled, later] = await clock.until(engine.run<[boolean, string, number, boolean]>(source));
  expect(ok).toBe(false);
  expect(message).toContain('Number of requests exceeded limit');
  expect(stalled).toBeCloseTo(30, 1);
  expect(later).toBe(true);
  expect(sent).toBe(501);
});

test('in Studio a fourth request waits for one of three', async () => {
  const { engine, clock } = await start({ studio: true });
  engine.network.fault = () => ({ kind: 'silent' });
  const source = `local HttpService = game:GetService("HttpService")
    local begun, ended = os.clock(), {}
    for index = 1, 4 do
      task.spawn(function()
        pcall(HttpService.RequestAsync, HttpService, { Url = "http://gateway.test:8080/" .. index, Timeout = 10 })
        table.insert(ended, os.clock() - begun)
      end)
    end
    task.wait(30)
    return ended`;
  const ended = await clock.until(engine.run<number[]>(source));
  expect(ended.map((seconds) => Math.round(seconds))).toEqual([10, 10, 10, 20]);
  expect(engine.http.maxInFlight).toBe(4);
});

test('network faults: unreachable, timeout, reset after the request arrived, and a response from in between', async () => {
  const { url, received } = await listen();
  const engine = await createEngine();
  onTestFinished(() => engine.crash());
  const attempt = async (timeout = 5) =>
    await engine.run(
      `${CAUGHT} return HttpService:RequestAsync({ Url = "${url}", Timeout = ${timeout} }).StatusCode ${RETURN}`,
    );
  const failure = (kind: string) => [false, expect.stringContaining(`HttpError: ${kind}`)];
  engine.network.down = true;
  expect(await attempt()).toEqual(failure('ConnectFail'));
  engine.network.down = false;
  engine.network.fault = () => ({ kind: 'silent' });
  expect(await attempt(0.05)).toEqual(failure('Timedout'));
  engine.network.fault = () => ({ kind: 'respond', response: { status: 429, headers: { 'retry-after': '1' } } });
  expect(await attempt()).toEqual([true, 429]);
  expect(received).toHaveLength(0);
  engine.network.fault = () => ({ kind: 'reset-after-send' });
  expect(await attempt()).toEqual(failure('NetFail'));
  expect(received).toHaveLength(1);
  engine.network.fault = undefined;
  expect(await attempt()).toEqual([true, 201]);
  const slow = `${CAUGHT} return HttpService:RequestAsync({ Url = "${url}/hang", Timeout = 0.05 }) ${RETURN}`;
  expect(await engine.run(slow)).toEqual(failure('Timedout'));
  const refused = `${CAUGHT} return HttpService:RequestAsync({ Url = "http://127.0.0.1:9" .. "999" }) ${RETURN}`;
  expect(await engine.run(refused)).toEqual(failure('ConnectFail'));
});
