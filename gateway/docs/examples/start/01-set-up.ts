export const API = process.env['GUILD_DATA_URL'] ?? 'http://127.0.0.1:8080';
export const KEY = process.env['GUILD_DATA_KEY'] ?? 'service_900000000000000001_...';
export const GUILD = '900000000000000001';

/** Sends a request and returns the data of the response. */
export async function call<Data>(method: string, path: string, body?: object): Promise<Data> {
  const response = await fetch(API + path, {
    method,
    headers: { 'X-API-Key': KEY, 'X-Guild-ID': GUILD, 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  });
  const answer = (await response.json()) as { message: string; data: Data };
  if (!response.ok) throw new Error(answer.message);
  return answer.data;
}
