-- Acquires one of the slots for calls, or queues the caller if none is free.
--
-- KEYS     1 sorted set of occupied slots by the time at which they become free; 2 sorted set of waiting callers in
--          their order; 3 sorted set of waiting callers by the time at which they expire; 4 hash of the rounds: the
--          current round as `now:<class>`, of each guild the next round as `<class>:<guild>` and the number of waiting
--          callers as `waiting:<class>:<guild>`, and `<class>:<guild>` of each waiting caller as `of:<ID>`; 5 sorted set
--          of the slots that this guild occupies, as in 1; 6 sorted set of the two guilds that called last, by time
-- ARGV     1 ID of the caller, 2 class: 0 for the most urgent purpose, 3 guild, 4 number of slots, 5 number of slots
--          that this class leaves free, 6 ms after which a slot becomes free even if it is never released, 7 length of
--          the window in ms, 8 maximum ms after which a caller tries again, 9 number of slots that a guild may always
--          occupy, 0 if the slots of guilds are not limited, 10 ms for which a guild counts as one that calls
-- returns  0 if the caller has a slot, otherwise ms after which to try again
local occupied, waiting, expiry, rounds, own_occupied, guilds = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local id, class, guild = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local slots, reserve, lease = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local window, longest = tonumber(ARGV[7]), tonumber(ARGV[8])
local assured, calling = tonumber(ARGV[9]), tonumber(ARGV[10])
-- Calls of no guild are those of the service itself.
local is_limited = assured > 0 and guild ~= ''
-- Larger than any round, so that all callers of class 0 come before all callers of class 1.
local SPAN = 1000000000000
local GRACE = 1000
local KEY_TTL = 60000 + window

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Forgets a caller that waits no longer.
local function forget(caller)
  local own = redis.call('HGET', rounds, 'of:' .. caller)
  if not own then return end
  redis.call('HDEL', rounds, 'of:' .. caller)
  if redis.call('HINCRBY', rounds, 'waiting:' .. own, -1) <= 0 then redis.call('HDEL', rounds, 'waiting:' .. own) end
end

redis.call('ZREMRANGEBYSCORE', occupied, '-inf', now)
for _, expired in ipairs(redis.call('ZRANGEBYSCORE', expiry, '-inf', now, 'LIMIT', 0, 100)) do
  redis.call('ZREM', waiting, expired)
  redis.call('ZREM', expiry, expired)
  forget(expired)
end

local order = tonumber(redis.call('ZSCORE', waiting, id) or nil)
local free = slots - redis.call('ZCARD', occupied)
if redis.call('ZCARD', waiting) == 0 then redis.call('DEL', rounds) end

-- True if the guild has its whole share: as many slots as are free, or `assured` if that is more, less those that it must
-- leave to its own more urgent calls. A guild that calls alone has no limit.
local function exceeds_share()
  redis.call('ZADD', guilds, now, guild)
  redis.call('ZREMRANGEBYRANK', guilds, 0, -3)
  redis.call('ZREMRANGEBYSCORE', guilds, '-inf', now - calling)
  redis.call('PEXPIRE', guilds, calling)
  redis.call('ZREMRANGEBYSCORE', own_occupied, '-inf', now)
  if redis.call('ZCARD', guilds) == 1 then return false end
  local share = math.max(assured, free)
  local own = redis.call('ZCARD', own_occupied)
  -- A caller is queued only if a slot is left for it after those that are queued before it.
  for urgency = 0, order and -1 or class do
    own = own + tonumber(redis.call('HGET', rounds, 'waiting:' .. urgency .. ':' .. guild) or 0)
  end
  return own >= share - math.floor(share * reserve / slots)
end

-- Such a caller is not in the queue, so that it delays no caller of another guild.
if is_limited and exceeds_share() then
  redis.call('ZREM', waiting, id)
  redis.call('ZREM', expiry, id)
  forget(id)
  local next = redis.call('ZRANGE', own_occupied, 0, 0, 'WITHSCORES')
  return math.max(100, math.min(longest, next[2] and next[2] - now or longest))
end

-- Consecutive calls of a guild get consecutive rounds, so that each guild has one call in each round. Rounds of callers
-- that gave up are not counted: a guild that has few callers left is not put behind the rounds that they had.
if not order then
  local own = class .. ':' .. guild
  local current = tonumber(redis.call('HGET', rounds, 'now:' .. class) or 0)
  local following = tonumber(redis.call('HGET', rounds, own) or 0)
  local before = redis.call('HINCRBY', rounds, 'waiting:' .. own, 1) - 1
  local round = math.max(current, math.min(following, current + before + 1))
  redis.call('HSET', rounds, own, round + 1, 'of:' .. id, own)
  order = class * SPAN + round
  redis.call('ZADD', waiting, order, id)
end

free = free - reserve
local rank = redis.call('ZRANK', waiting, id)
local wait = 0
if rank < free then
  redis.call('ZREM', waiting, id)
  redis.call('ZREM', expiry, id)
  forget(id)
  redis.call('ZADD', occupied, now + lease, id)
  if is_limited then
    redis.call('ZADD', own_occupied, now + lease, id)
    redis.call('PEXPIRE', own_occupied, KEY_TTL)
  end
  redis.call('HSET', rounds, 'now:' .. class, order - class * SPAN)
else
  local next = redis.call('ZRANGE', occupied, rank - free, rank - free, 'WITHSCORES')
  longest = math.min(longest, 100 + math.floor(window * rank / slots))
  wait = math.max(10, math.min(longest, next[2] and next[2] - now or longest))
  redis.call('ZADD', expiry, now + wait + GRACE, id)
end
for index = 1, 4 do redis.call('PEXPIRE', KEYS[index], KEY_TTL) end
return wait
