import { API, GUILD, KEY } from '../start/01-set-up.ts';

const { headers } = await fetch(`${API}/api/v1/bindings/list`, {
  headers: { 'X-API-Key': KEY, 'X-Guild-ID': GUILD },
});
console.log(headers.get('X-RateLimit-Remaining'), 'requests left until', headers.get('X-RateLimit-Reset'));
