import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { privateFolder, writePrivately } from '../files.ts';
import { call } from './call.ts';

export type DemoWebhookOptions = {
  /** The folder in which the webhook's ID and secret are stored. */
  folder: string;
  gateway: string;
  receiver: string;
  guildId: string;
  key: string;
};

type Webhook = { id: string; secret?: string };

const DESCRIPTION = 'Demo: the simulated receiver prints each event';

/**
 * Makes the demo guild's webhook send to the simulated receiver, whose port is another at each start, and gives the
 * receiver the webhook's secret. A webhook that was deleted is created again.
 */
export async function makeDemoWebhook(options: DemoWebhookOptions): Promise<void> {
  const { folder, receiver } = options;
  const url = `${receiver}/hooks/demo`;
  const stored = storedWebhook(folder);
  const isStored = stored !== undefined && (await movesTo(options, stored, url));
  const webhook = isStored ? stored : await createWebhook(options, url);
  if (!isStored) writePrivately(webhookFile(folder), `${JSON.stringify(webhook)}\n`);
  const { status } = await call(`${receiver}/__secrets/demo`, {
    key: '',
    method: 'PUT',
    body: { secret: webhook.secret },
  });
  if (status !== 200) throw new Error(`The simulated receiver responded with ${status} to the webhook's secret`);
}

/** Changes the URL of a webhook of an earlier start; false if there is no such webhook any more. */
async function movesTo({ gateway, key }: DemoWebhookOptions, { id }: Webhook, url: string): Promise<boolean> {
  const { status, text } = await call(`${gateway}/api/v1/webhooks/${id}`, {
    key,
    method: 'PATCH',
    body: { url, enabled: true },
  });
  if (status !== 200 && status !== 404) throw new Error(`The demo webhook could not be changed: ${status} ${text}`);
  return status === 200;
}

async function createWebhook({ gateway, guildId, key }: DemoWebhookOptions, url: string): Promise<Webhook> {
  const { status, text } = await call(`${gateway}/api/v1/webhooks`, {
    key,
    body: { guild_id: guildId, url, types: ['*'], description: DESCRIPTION },
  });
  if (status !== 201) throw new Error(`The demo webhook could not be created: ${status} ${text}`);
  const { id, secret } = (JSON.parse(text) as { data: Webhook }).data;
  return secret === undefined ? { id } : { id, secret };
}

function storedWebhook(folder: string): Webhook | undefined {
  const file = webhookFile(folder);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Webhook) : undefined;
}

const webhookFile = (folder: string) => join(privateFolder(join(folder, 'secrets')), 'demo-webhook');
