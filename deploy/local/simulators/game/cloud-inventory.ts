import type { Answer, Call } from '../routes.ts';
import { ok } from '../routes.ts';
import type { World } from '../world.ts';
import type { GameUser } from '../world-schema.ts';
import { paginate } from './cloud-pages.ts';
import { refuseCloud } from './errors.ts';
import { findUser } from './users.ts';

const largestPage = 100;
const idFields = { gamePassIds: 'gamepasses', badgeIds: 'badges', assetIds: 'assets' } as const;
const typeFields = { gamePasses: 'gamepasses', badges: 'badges', inventoryItemAssetTypes: 'assets' } as const;
type Kind = 'gamepasses' | 'badges' | 'assets';
type Wanted = (kind: Kind, id: number) => boolean;

/** What a user owns, all or filtered. A private inventory is not readable, not even whether it is empty. */
export function inventoryItems(world: World, call: Call): Answer {
  const user = findUser(world, call) ?? refuseCloud(404, 'User not found.');
  if (user.rejected) refuseCloud(400, 'The user is invalid.');
  const wanted = readFilter(call.query.get('filter'));
  if (user.inventory_private) refuseCloud(403, 'Insufficient permissions to view the inventory of this user.');
  const rows = [
    ...user.assets.filter((id) => wanted('assets', id)).map((id) => viewAsset(user, id)),
    ...user.badges.filter((id) => wanted('badges', id)).map((id) => viewBadge(user, id)),
    ...user.gamepasses.filter((id) => wanted('gamepasses', id)).map((id) => viewGamepass(user, id)),
  ];
  const { page, nextPageToken } = paginate(call, rows, largestPage);
  return ok({ inventoryItems: page, nextPageToken });
}

function viewAsset(user: GameUser, id: number) {
  const instanceId = String(id);
  const assetDetails = { assetId: String(id), inventoryItemAssetType: 'HAT', instanceId };
  return { path: path(user, 'asset', id), assetDetails, addTime: user.created };
}

function viewBadge(user: GameUser, id: number) {
  return { path: path(user, 'badge', id), badgeDetails: { badgeId: String(id) }, addTime: user.created };
}

/** The platform does not return when a pass was bought. */
function viewGamepass(user: GameUser, id: number) {
  return { path: path(user, 'game-pass', id), gamePassDetails: { gamePassId: String(id) } };
}

function path(user: GameUser, kind: string, id: number): string {
  return `users/${user.id}/inventory-items/${Buffer.from(`${kind}:${id}`).toString('base64url')}`;
}

/** Reads `field=value;field=value,value`. Fields with IDs and fields with types cannot be combined. */
function readFilter(filter: string | null): Wanted {
  if (!filter) return () => true;
  const fields = new Map(filter.split(';').map(readField));
  const names = [...fields.keys()];
  if (names.every((name) => Object.hasOwn(idFields, name)))
    return (kind, id) => namedIds(fields, kind).includes(String(id));
  if (names.every((name) => Object.hasOwn(typeFields, name))) return (kind) => namedTypes(fields).includes(kind);
  return refuseCloud(400, 'The filter has a field that is unknown, or ID and type fields together.');
}

function readField(text: string): [string, string[]] {
  const [name = '', values] = text.split('=');
  if (!values) return refuseCloud(400, `The filter has a field without a value: ${text}`);
  if (Object.hasOwn(idFields, name) && !/^[0-9]+(,[0-9]+)*$/.test(values))
    refuseCloud(400, `The filter has a faulty ID: ${text}`);
  return [name, values.split(',')];
}

function namedIds(fields: Map<string, string[]>, kind: Kind): string[] {
  const name = Object.entries(idFields).find(([, field]) => field === kind)?.[0] ?? '';
  return fields.get(name) ?? [];
}

function namedTypes(fields: Map<string, string[]>): Kind[] {
  return Object.entries(typeFields).flatMap(([name, kind]) => {
    const value = fields.get(name)?.[0];
    return value !== undefined && value !== 'false' ? [kind] : [];
  });
}
