import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const LIMITS = readFileSync(join(import.meta.dirname, '../../../services/kit/limits/limits.lua'), 'utf8');
const SHA = createHash('sha1').update(LIMITS).digest('hex');

/**
 * A simple gateway in nginx and Lua: it finds the key by its hash in memory, and counts the same two limits with the
 * gateway's script in Redis. It has no scopes, guilds, allowlists, signed principals or metrics.
 */
export function limitWithLua(keysFile: string, { hostname, port, password }: URL): string {
  return `
  lua_shared_dict keys 20m;
  init_by_lua_block {
    local known = ngx.shared.keys
    for hash in io.lines('${keysFile}') do known:set(hash, true) end
    local policy = {}
    local script = [==[${LIMITS}]==]
    local redis = require 'nginx.redis'
    redis.add_commands('evalsha')
    policy.check = function()
      local key = ngx.var.http_x_api_key
      if not key then return ngx.exit(401) end
      local id = ngx.encode_base64(ngx.sha1_bin(key))
      if not known:get(id) then return ngx.exit(401) end
      local client = redis:new()
      client:set_timeout(50)
      local connected = client:connect('${hostname}', ${port})
      if not connected then return ngx.exit(503) end
      if client:get_reused_times() == 0 then client:auth('${password}') end
      local category, cap = 'nginx:{' .. id .. '}:category', 'nginx:{' .. id .. '}:key'
      local answer, fault = client:evalsha('${SHA}', 2, category, cap, 60000, 2, -1, 0, 1000000, 0, 1000000, 0)
      if fault and fault:find('NOSCRIPT', 1, true) then
        answer = client:eval(script, 2, category, cap, 60000, 2, -1, 0, 1000000, 0, 1000000, 0)
      end
      client:set_keepalive(10000, 64)
      if not answer then return ngx.exit(503) end
      if answer[3] == 0 then return ngx.exit(429) end
      ngx.header['X-RateLimit-Remaining'] = 1000000 - answer[4]
    end
    package.loaded.policy = policy
  }`;
}
