import type { Answer, Call } from '../routes.ts';
import { ok } from '../routes.ts';
import type { World } from '../world.ts';
import type { GameItem, GameUser } from '../world-schema.ts';
import { refuse } from './errors.ts';
import type { GameRoute } from './limits.ts';
import { findUser } from './users.ts';

const MAX_BADGES = 100;
const universe = { id: 1, name: 'Simulated universe', rootPlaceId: 1 };
const made = '2020-01-01T00:00:00Z';

/** Routes of the hosts for inventories, badges, assets and game passes. */
export function itemRoutes(world: World): GameRoute[] {
  const items = '/v1/users/:user/items/:type/:item';
  return [
    { method: 'GET', pattern: `${items}/is-owned`, handle: (call) => isOwned(world, call) },
    { method: 'GET', pattern: '/v1/users/:user/can-view-inventory', handle: (call) => canView(world, call) },
    { method: 'GET', pattern: '/v1/badges/:item', handle: (call) => getBadge(world, call) },
    { method: 'GET', pattern: '/v1/users/:user/badges/awarded-dates', handle: (call) => awardedDates(world, call) },
    {
      method: 'GET',
      pattern: '/game-passes/v1/game-passes/:item/product-info',
      handle: (call) => getGamepass(world, call),
    },
    { method: 'GET', pattern: '/v2/assets/:item/details', handle: (call) => getAsset(world, call) },
  ];
}

function findOwner(world: World, call: Call): GameUser {
  return findUser(world, call) ?? refuse(400, 1, 'The specified user does not exist!');
}

/** Responds with true or false. For a private inventory it is false, although the user may own the item. */
function isOwned(world: World, call: Call): Answer {
  const user = findOwner(world, call);
  const id = Number(call.params['item']);
  const owned = ownedOfType(world, user, (call.params['type'] ?? '').toLowerCase(), id);
  return ok(!user.inventory_private && owned.includes(id));
}

/** The user's items of a type, given by name or number; throws if the item does not exist. */
function ownedOfType(world: World, user: GameUser, type: string, id: number): number[] {
  if (type === '0' || type === 'asset') {
    if (!world.assets.has(id)) refuse(400, 7, 'The specified Asset does not exist!');
    return user.assets;
  }
  if (type === '1' || type === 'gamepass') {
    if (!world.gamepasses.has(id))
      refuse(400, 5, 'The specified game pass does not exist! Are you using the new game pass ID?');
    return user.gamepasses;
  }
  if (type === '2' || type === 'badge') {
    if (!world.badges.has(id)) refuse(400, 10, 'The specified asset is not a badge!');
    return user.badges;
  }
  if (type === '3' || type === 'bundle') refuse(400, 12, 'The specified bundle does not exist!');
  return refuse(400, 6, 'The specified item type does not exist.');
}

function canView(world: World, call: Call): Answer {
  return ok({ canView: !findOwner(world, call).inventory_private });
}

function getBadge(world: World, call: Call): Answer {
  const badge = world.badges.get(Number(call.params['item'])) ?? refuse(404, 1, 'Badge is invalid or does not exist.');
  const { id, name, description } = badge;
  return ok({
    id,
    name,
    description,
    displayName: name,
    displayDescription: description,
    enabled: true,
    iconImageId: id,
    displayIconImageId: id,
    created: made,
    updated: made,
    statistics: { pastDayAwardedCount: 0, awardedCount: 0, winRatePercentage: 0 },
    awardingUniverse: universe,
  });
}

function awardedDates(world: World, call: Call): Answer {
  const user = findUser(world, call) ?? refuse(404, 4, 'User is invalid or does not exist.');
  const requested = (call.query.get('badgeIds') ?? '').split(',').filter(Boolean).map(Number);
  if (requested.length > MAX_BADGES) refuse(400, 5, 'The number of badges requested is too big.');
  const visible = user.inventory_private ? [] : user.badges.filter((id) => requested.includes(id));
  return ok({ data: visible.map((badgeId) => ({ badgeId, awardedDate: user.created })) });
}

function getGamepass(world: World, call: Call): Answer {
  const pass = world.gamepasses.get(Number(call.params['item'])) ?? refuse(404, 0, 'The game pass does not exist.');
  return ok({ ...viewProduct(pass, 'Game Pass'), AssetId: 0, AssetTypeId: 0 });
}

function getAsset(world: World, call: Call): Answer {
  const asset = world.assets.get(Number(call.params['item'])) ?? refuse(400, 20, 'Invalid asset ID');
  return ok({
    ...viewProduct(asset, 'User Product'),
    AssetId: asset.id,
    AssetTypeId: 8,
    IsLimited: false,
    IsLimitedUnique: false,
    Remaining: null,
    ContentRatingTypeId: 0,
    SaleLocation: null,
    CollectibleItemId: null,
  });
}

function viewProduct(item: GameItem, type: string) {
  return {
    TargetId: item.id,
    ProductType: type,
    ProductId: item.id,
    Name: item.name,
    Description: item.description,
    Creator: { Id: 1, Name: 'Roblox', CreatorType: 'User', CreatorTargetId: 1, HasVerifiedBadge: true },
    IconImageAssetId: item.id,
    Created: made,
    Updated: made,
    PriceInRobux: null,
    Sales: 0,
    IsForSale: false,
    IsNew: false,
    IsPublicDomain: false,
  };
}
