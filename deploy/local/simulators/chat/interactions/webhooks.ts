import type { Answer, Call } from '../../routes.ts';
import { isRecord, ok } from '../../routes.ts';
import type { World } from '../../world.ts';
import { refuse, refuseField } from '../errors.ts';
import type { ChatRoute } from '../limits.ts';
import type { Interaction, Interactions } from './store.ts';

const MAX_CONTENT = 2000;
const MAX_EMBEDS = 10;

/** Routes with which the application changes its response. The token in the path authorises them. */
export function webhookRoutes(world: World, interactions: Interactions): ChatRoute[] {
  const pattern = '/api/v10/webhooks/:application/:token/messages/@original';
  const of = (call: Call) => findResponse(world, interactions, call);
  return [
    { method: 'GET', pattern, limit: 'webhook', handle: (call) => ok(viewMessage(of(call))) },
    { method: 'PATCH', pattern, limit: 'webhook', handle: (call) => edit(of(call), call) },
  ];
}

/** The interaction of a token. As long as the application has not responded, there is nothing to change. */
function findResponse(world: World, interactions: Interactions, { params }: Call): Interaction {
  const found = interactions.ofToken(params['token'] ?? '') ?? refuse(401, 50027, 'Invalid Webhook Token');
  const isOwn = params['application'] === world.data.chat.oauth_client.client_id;
  return isOwn && found.message ? found : refuse(404, 10015, 'Unknown Webhook');
}

function edit(interaction: Interaction, { body }: Call): Answer {
  const form = isRecord(body) ? body : {};
  const { content = null, embeds = [] } = form;
  if (content !== null && (typeof content !== 'string' || Array.from(content).length > MAX_CONTENT))
    refuseField('content', 'BASE_TYPE_MAX_LENGTH', `Must be ${MAX_CONTENT} or fewer in length.`);
  if (!Array.isArray(embeds) || embeds.length > MAX_EMBEDS)
    refuseField('embeds', 'BASE_TYPE_MAX_LENGTH', `Must be ${MAX_EMBEDS} or fewer in length.`);
  const message: Record<string, unknown> = { ...interaction.message, ...form, pending: false };
  const isEmpty = !message['content'] && ![message['embeds']].flat().some(isRecord) && !form['components'];
  if (isEmpty) refuse(400, 50006, 'Cannot send an empty message');
  interaction.message = message;
  interaction.edits += 1;
  return ok(viewMessage(interaction));
}

function viewMessage({ id, message }: Interaction) {
  return { id, type: 20, ...message };
}
