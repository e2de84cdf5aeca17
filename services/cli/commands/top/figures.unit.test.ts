import { expect, test } from 'vitest';
import { Page } from './exposition.ts';
import { figuresOf } from './figures.ts';

const page = (text: string, at = 0) => new Page(text, at);
const between = (before: string, after: string) => figuresOf(page(before, 0), page(after, 2_000));

test('metrics are parsed line by line, with any label value, and invalid lines are ignored', () => {
  const read = page(
    '# HELP a text\n# TYPE a gauge\na 1\na{x="1,y=\\"2\\"",z="\\\\n\\n"} 2.5e3\nb NaN\n\nnot a line here\n',
  );
  expect(read.lines('a')).toEqual([
    { labels: {}, value: 1 },
    { labels: { x: '1,y="2"', z: '\\n\n' }, value: 2_500 },
  ]);
  expect([read.sum('a'), read.sum('c'), read.sum('a', ({ x }) => x !== undefined)]).toEqual([2_501, undefined, 2_500]);
});

test('rates are measured between two times, and include the requests and errors of REST and gRPC', () => {
  const { requests_per_second, errors_per_second } = between(
    'http_requests_total{route="a",code="200"} 10\nhttp_requests_total{route="a",code="503"} 5\ngrpc_server_handled_total{code="OK"} 1',
    [
      'http_requests_total{route="a",code="200"} 30\nhttp_requests_total{route="a",code="503"} 6',
      'http_requests_total{route="b",code="404"} 4\ngrpc_server_handled_total{code="OK"} 3',
      'grpc_server_handled_total{code="UNAVAILABLE"} 2\ngrpc_server_handled_total{code="NOT_FOUND"} 1',
    ].join('\n'),
  );
  expect([requests_per_second, errors_per_second]).toEqual([15, 1.5]);
});

test('the counters of a restarted process are counted from its start', () => {
  expect(between('http_requests_total{code="200"} 1000', 'http_requests_total{code="200"} 8').requests_per_second).toBe(
    4,
  );
});

const bucket = (le: string, count: number, labels = 'route="getLink"') =>
  `http_request_duration_seconds_bucket{le="${le}",${labels}} ${count}\n`;

test('the 99th percentile is interpolated within its bucket, between two times and without long polls', () => {
  const before = bucket('0.01', 100) + bucket('0.1', 100) + bucket('+Inf', 100);
  const after = bucket('0.01', 190) + bucket('0.1', 200) + bucket('+Inf', 200);
  expect(between(before, after).p99_seconds).toBeCloseTo(0.01 + 0.09 * 0.9);
  const polls = bucket('0.01', 0, 'route="pollCommands"') + bucket('+Inf', 900, 'route="pollCommands"');
  expect(between(before, after + polls).p99_seconds).toBeCloseTo(0.091);
  const watch = 'grpc_server_handling_seconds_bucket{le="+Inf",method="/guild.auth.v1.AuthService/Watch"} 50\n';
  expect(between(before, after + watch).p99_seconds).toBeCloseTo(0.091);
  expect(between(before, before).p99_seconds).toBeNull();
  expect(between('', bucket('0.01', 1) + bucket('+Inf', 100)).p99_seconds).toBe(0.01);
});

test('pool, breakers, limiter, key cache, polls, commands and jobs are reported if the process has them', () => {
  const text = `
gateway_in_flight_requests 7
event_loop_utilisation_ratio 0.25
postgres_pool_connections{state="used"} 4
postgres_pool_connections{state="idle"} 1
postgres_pool_connections{state="waiting"} 2
postgres_pool_connections_max 5
breaker_open{dependency="lookup"} 1
breaker_open{dependency="auth"} 0
gateway_limiter_degraded 1
gateway_limit_decisions_total{decision="rejected",mode="exact"} 10
gateway_limit_decisions_total{decision="allowed",mode="exact"} 90
gateway_key_cache_total{outcome="hit"} 9
gateway_key_cache_total{outcome="miss"} 1
gateway_key_stream_alive 0
activity_open_polls 12
activity_unacknowledged_commands 3
activity_oldest_unacknowledged_command_seconds 40
members_sync_jobs{state="queued"} 1
members_sync_jobs{state="running"} 2
listener_receiving{channel="auth_keys"} 0
schema_current 0
`;
  expect(between('', text)).toMatchObject({
    in_flight: 7,
    event_loop_ratio: 0.25,
    pool: { used: 4, waiting: 2, max: 5 },
    breakers_open: ['lookup'],
    limiter_degraded: true,
    limited_per_second: 5,
    key_cache_hit_ratio: 0.9,
    key_stream_alive: false,
    waiting_polls: 12,
    unacknowledged_commands: 3,
    oldest_command_seconds: 40,
    unfinished_jobs: 3,
    faults: ['no notifications on auth_keys', 'outdated schema'],
  });
});

test('figures that a process does not have are null, and are not faults', () => {
  const { faults, breakers_open, requests_per_second, errors_per_second, ...rest } = between('', '');
  expect([faults, breakers_open, requests_per_second, errors_per_second]).toEqual([[], [], 0, 0]);
  expect([...new Set(Object.values(rest))]).toEqual([null]);
});
