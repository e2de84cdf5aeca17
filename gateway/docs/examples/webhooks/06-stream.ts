import { API, GUILD, KEY } from '../start/01-set-up.ts';

const response = await fetch(`${API}/api/v1/events/stream?after=0`, {
  headers: { 'X-API-Key': KEY, 'X-Guild-ID': GUILD },
});
for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
  console.log(text);
  break; // leave this out to go on
}
