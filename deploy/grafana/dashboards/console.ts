import type { DashboardSpec } from '../dashboard.ts';
import { jobOf, quantile, rate } from '../queries.ts';

const CONSOLE = jobOf('console');
const AUTH = jobOf('auth');

export const console: DashboardSpec = {
  name: 'console',
  title: 'Console',
  description: 'The web console: its requests, streams of events, and how persons sign in.',
  rows: {
    Requests: [
      {
        title: 'Console requests by route',
        description: 'The twenty routes with the most requests; `none` counts files of the app and unknown paths.',
        unit: 'reqps',
        queries: { '{{route}}': `topk(20, ${rate('http_requests_total', CONSOLE, ['route'])})` },
      },
      {
        title: 'Console request latency by route, p99',
        description: 'Time until the response was written, without streams of events.',
        unit: 's',
        queries: {
          '{{route}}': quantile(0.99, 'http_request_duration_seconds', CONSOLE, ['route']),
        },
      },
      {
        title: 'Console 5xx responses by route',
        description: 'Responses of the console with a 5xx status, by route and status.',
        unit: 'reqps',
        queries: { '{{route}} {{code}}': rate('http_requests_total', `${CONSOLE},code=~"5.."`, ['route', 'code']) },
        alerts: ['GuildDataConsoleErrors', 'GuildDataServiceDown'],
      },
      {
        title: 'Requests rejected by the console',
        description: 'Not signed in (401), not allowed or a forged origin (403), and more than the rate limits (429).',
        unit: 'reqps',
        queries: { '{{code}}': rate('http_requests_total', `${CONSOLE},code=~"401|403|429"`, ['code']) },
      },
    ],
    Load: [
      {
        title: 'Console requests in flight',
        description: 'Requests in flight in each console; at MAX_IN_FLIGHT (100 by default) more get 503.',
        unit: 'short',
        queries: { '{{instance}}': `console_in_flight_requests{${CONSOLE}}` },
        alerts: ['GuildDataConsoleErrors'],
      },
      {
        title: 'Event loop utilization by console',
        description: 'Share of time that the event loop of each console was busy; near 1 it needs more replicas.',
        unit: 'percentunit',
        max: 1,
        queries: { '{{instance}}': `event_loop_utilisation_ratio{${CONSOLE}}` },
        alerts: ['GuildDataProcessBusy'],
      },
      {
        title: 'Streams of events to browsers, and their shared connections',
        description:
          'Open streams in each console, at most MAX_STREAMS (500 by default), and the connections to the events service that they share.',
        unit: 'short',
        queries: {
          'browsers of {{instance}}': `console_event_streams{${CONSOLE}}`,
          'shared by {{instance}}': `console_shared_event_streams{${CONSOLE}}`,
        },
      },
      {
        title: 'Ends of streams of events, and lost shared connections',
        description: 'Why streams to browsers ended, and connections to the events service that were lost.',
        unit: 'ops',
        queries: {
          '{{reason}}': rate('console_event_stream_ends_total', CONSOLE, ['reason']),
          'connection lost': rate('console_shared_event_stream_losses_total', CONSOLE),
        },
      },
      {
        title: 'Consoles that count rate limits without Redis',
        description:
          'Consoles that count requests by themselves because Redis is unavailable, or, if there are several, because it is not configured.',
        unit: 'short',
        queries: { consoles: `sum(gateway_limiter_degraded{${CONSOLE}})` },
        alerts: ['GuildDataLimiterDegraded'],
      },
    ],
    'Signing in': [
      {
        title: 'Sessions of the console created',
        description: 'Persons who signed in: with a chat account, an OpenID provider, or a one-time link.',
        unit: 'ops',
        queries: { '{{provider}}': rate('auth_console_sign_ins_total', AUTH, ['provider']) },
      },
      {
        title: 'Browsers that returned from a provider, by result',
        description:
          'Signed in, cancelled by the person, rejected (unknown, used, expired or of another browser), or failed at the provider.',
        unit: 'ops',
        queries: { '{{result}}': rate('auth_console_callbacks_total', AUTH, ['result']) },
        alerts: ['GuildDataConsoleSignInFailing'],
      },
      {
        title: 'Calls to the providers of sign-in by outcome',
        description:
          'Status of the response; no usable response (failed); none in time (too slow); or not sent because of a pause (held back). chat-oauth is the chat platform, oidc the OpenID provider.',
        unit: 'reqps',
        queries: {
          '{{host}} {{outcome}}': rate('platform_calls_total', `${AUTH},host=~"chat-oauth|oidc"`, ['host', 'outcome']),
        },
        alerts: ['GuildDataConsoleSignInFailing', 'GuildDataPlatformRejectsCredentials'],
      },
      {
        title: 'Readings of the rights of signed-in persons',
        description:
          'Readings of what a person may do, from the provider, every ten minutes while the person uses the console: successful (read), failed, or the person withdrew the permission (withdrawn).',
        unit: 'ops',
        queries: { '{{result}}': rate('auth_console_rights_read_total', AUTH, ['result']) },
        alerts: ['GuildDataConsoleRightsUnread'],
      },
      {
        title: 'Requests of persons by result of the check in auth',
        description: 'Signed, or rejected because the session has ended or the role is too low.',
        unit: 'reqps',
        queries: { '{{result}}': rate('auth_console_requests_total', AUTH, ['result']) },
      },
    ],
  },
};
