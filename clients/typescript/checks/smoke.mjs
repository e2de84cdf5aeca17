// Uses the installed client: node smoke.mjs BASE_URL. The server fails once, and has no member.
import { events, GuildData, NotFoundError, verifyWebhook, WebhookVerificationError } from '@guild-data/client';

const [baseUrl] = globalThis.Deno?.args ?? globalThis.process.argv.slice(2);
const guild = new GuildData({ key: 'service_900000000000000001_smoke', guildId: '900000000000000001', baseUrl });

const whoami = await guild.whoami();
if (whoami.scopes?.[0] !== 'lookup:read') throw new Error('wrong data');

const error = await guild.getMember({ chatId: '920000000000000001' }).catch((reason) => reason);
if (!(error instanceof NotFoundError) || error.details.code !== 'NOT_FOUND') throw new Error('wrong error');

for await (const event of events(guild, { after: 4 })) {
  if (event.seq !== 5) throw new Error('wrong event');
  break;
}

const request = {
  body: '{"test": 2432232314}',
  headers: {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
};
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
await verifyWebhook(request, secret, { now: 1614265330 });
const old = await verifyWebhook(request, secret).catch((reason) => reason);
if (!(old instanceof WebhookVerificationError)) throw new Error('an old webhook was accepted');

const runtime = globalThis.Deno ? `Deno ${Deno.version.deno}` : globalThis.Bun ? `Bun ${Bun.version}` : process.version;
console.log(`requests, retry, error, events and webhook work on ${runtime}`);
