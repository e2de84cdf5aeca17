import { z } from 'zod';
import type { Clock } from '../../limits.ts';
import { parse } from '../../parse.ts';
import type { Answer, Call, Control } from '../../routes.ts';
import { done, isRecord, ok } from '../../routes.ts';
import type { World } from '../../world.ts';
import { snowflake } from '../../world-schema.ts';
import { buildCommandUse } from './build.ts';
import type { Commands } from './commands.ts';
import { HOSTILE_VARIANTS, signRequest, spoil } from './hostile.ts';
import type { Interaction, Interactions, SignedRequest } from './store.ts';

/** The application has to respond within this time. */
const RESPONSE_MS = 3000;
const MESSAGE = 4;
const DEFERRED_MESSAGE = 5;

const common = {
  url: z.url(),
  variant: z.enum(['valid', ...HOSTILE_VARIANTS]).default('valid'),
  /** Unix seconds; left out, now. The signature includes it. */
  timestamp: z.int().optional(),
  /** The ID of an earlier interaction, to be used again with a new signature. */
  id: snowflake.optional(),
};
const sendSchema = z.union([
  z.strictObject({ ...common, type: z.literal('ping') }),
  z.strictObject({
    ...common,
    type: z.literal('command').default('command'),
    guild: snowflake,
    user: snowflake,
    command: z.string().min(1),
    options: z.record(z.string(), z.json()).default({}),
  }),
  /** Sends the request of an earlier interaction again, byte by byte. */
  z.strictObject({ resend: snowflake }),
]);
type Send = Exclude<z.output<typeof sendSchema>, { resend: string }>;

type Parts = { world: World; commands: Commands; interactions: Interactions; clock: Clock };

/** Controls that send interactions to an application, and show what it responded and wrote. */
export function interactionControls(parts: Parts): Control[] {
  const { interactions } = parts;
  return [
    { method: 'GET', pattern: '/__interactions', handle: () => ok({ interactions: interactions.list().map(view) }) },
    { method: 'POST', pattern: '/__interactions', handle: (call) => send(parts, call) },
    { method: 'DELETE', pattern: '/__interactions', handle: done(() => interactions.clear()) },
  ];
}

async function send(parts: Parts, call: Call): Promise<Answer> {
  const form = parse(sendSchema, call);
  const interaction = 'resend' in form ? parts.interactions.find(form.resend) : prepare(parts, form);
  if (!interaction) throw new Error('There is no such interaction');
  await deliver(interaction);
  return ok(view(interaction));
}

/** Builds and signs the request of a new interaction. */
function prepare({ world, commands, interactions, clock }: Parts, form: Send): Interaction {
  const { application } = world;
  const id = form.id ?? application.newId(clock());
  const token = interactions.newToken();
  const base = { id, application_id: world.data.chat.oauth_client.client_id, token, version: 1 };
  const timestamp = String(form.timestamp ?? Math.floor(clock() / 1000));
  const body = JSON.stringify(form.type === 'ping' ? { ...base, type: 1 } : bodyOf(world, commands, base, form));
  const request = signRequest(application, form.url, timestamp, body);
  const sent = form.variant === 'valid' ? request : spoil(request, application, form.variant);
  return interactions.add(id, token, sent);
}

function bodyOf(world: World, commands: Commands, base: object, form: Extract<Send, { type: 'command' }>): object {
  const guild = world.guilds.get(form.guild);
  if (!guild) throw new Error(`There is no guild ${form.guild}`);
  const { user: userId, command: name, options } = form;
  return buildCommandUse(world, base, { guild, userId, name, options, command: commands.find(form.guild, name) });
}

/** Sends the request. Only a response in time that makes sense counts as the application's first response. */
async function deliver(interaction: Interaction): Promise<void> {
  const { status, body } = await post(interaction.request);
  interaction.status = status;
  interaction.response = body;
  const type = status === 200 && isRecord(body) ? body['type'] : undefined;
  const data = isRecord(body) && isRecord(body['data']) ? body['data'] : {};
  if (type === MESSAGE) interaction.message = { ...data, pending: false };
  else if (type === DEFERRED_MESSAGE) interaction.message ??= { ...data, pending: true };
}

async function post({ url, headers, body }: SignedRequest): Promise<{ status: number | null; body: unknown }> {
  try {
    const signal = AbortSignal.timeout(RESPONSE_MS);
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
    return { status: response.status, body: parseJson(await response.text()) };
  } catch {
    return { status: null, body: null };
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const view = ({ request: _request, ...rest }: Interaction) => rest;
