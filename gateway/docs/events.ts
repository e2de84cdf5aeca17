import { eventDescription } from '#proto/rest/events/event.ts';
import { EVENT_TYPE_NAMES } from '#proto/rest/events/index.ts';
import { type Html, html } from './html.ts';
import { inline } from './markdown.ts';

const VERIFY = `import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET); // whsec_..., from POST /webhooks

createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  try {
    const event = webhook.verify(body, request.headers);
    console.log(event.seq, event.type, event.data);
    response.writeHead(204).end();
  } catch {
    response.writeHead(401).end();
  }
}).listen(3000);`;

const STREAM = `curl -N -H "X-API-Key: $KEY" -H "X-Guild-ID: $GUILD" "$API/api/v1/events/stream?types=ban.*"`;

const POLL = `AFTER=0
curl -H "X-API-Key: $KEY" -H "X-Guild-ID: $GUILD" "$API/api/v1/events?after=$AFTER&wait=25"
# handle data.events, set AFTER to data.next_after, and repeat`;

const CREATE = `curl -H "X-API-Key: $KEY" -H "Content-Type: application/json" \\
  -d "{\\"guild_id\\": \\"$GUILD\\", \\"url\\": \\"https://example.com/hooks\\", \\"types\\": [\\"ban.*\\", \\"link.*\\"]}" "$API/api/v1/webhooks"`;

/** Renders the guide to events on the documentation page: three ways to receive them, and the table of types. */
export function eventsGuide(): Html {
  return html`<article id="receive-events">
<h3>Receive events</h3>
<p>Every change of your guild's data is an event with a number, <code>seq</code>, that counts from 1 without gaps. Remember the
<code>seq</code> of the last event that you handled: you can go back to it for 30 days, unless your operator has chosen another
time. An event whose type your key may not
read is left out.</p>
<p><b>Poll</b>, from any program that can send requests:</p>
<pre class="call"><code>${POLL}</code></pre>
<p><b>Stream</b>, with any client of server-sent events that sends headers. After a lost connection it continues after
<code>Last-Event-ID</code>:</p>
<pre class="call"><code>${STREAM}</code></pre>
<p><b>Webhook</b>, if you have a server that can be reached from the internet. The response shows the secret once:</p>
<pre class="call"><code>${CREATE}</code></pre>
<p>Each event is a POST that follows the Standard Webhooks specification, so its libraries verify it, here in Node.js:</p>
<pre class="call"><code>${VERIFY}</code></pre>
<p>${inline(DELIVERY)}</p>
</article>
<article id="event-types">
<h3>Event types</h3>
<div class="scroll"><table><thead><tr><th>Type</th><th>When</th></tr></thead>
<tbody>${typeRows()}</tbody></table></div>
</article>
`;
}

const DELIVERY =
  'Respond with 2xx within 15 s. Events can arrive twice, so remember `webhook-id`. Events arrive in order as long as you ' +
  'respond with 2xx; an event that failed is sent again later (after 5 s, 5 min, 30 min, 2 h and so on, for three days), ' +
  'while the events after it go on. 410 disables the webhook at once. A webhook that has failed for five days is disabled.';

function typeRows(): Html[] {
  return EVENT_TYPE_NAMES.map(
    (type) => html`<tr><td><code>${type}</code></td><td>${inline(eventDescription(type))}</td></tr>\n`,
  );
}
