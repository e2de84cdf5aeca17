-- Acquires one of the slots for calls, or queues the caller if none is free.
--
-- KEYS     1 sorted set of occupied slots by the time at which they become free; 2 sorted set of waiting callers in
--          their order; 3 sorted set of waiting callers by the time at which they expire; 4 hash of the rounds: the
--          current round as `now:<class>`, of each guild the next round as `<class>:<guild>` and the number of waiting
--          callers as `waiting:<class>:<guild>`, and `<class>:<guild>` of each waiting caller as `of:<ID>`
-- ARGV     1 ID of the caller, 2 class: 0 for the most urgent purpose, 3 guild, 4 number of slots, 5 number of slots
--          that this class leaves free, 6 ms after which a slot becomes free even if it is never released, 7 length of
--          the window in ms, 8 maximum ms after which a caller tries again
-- returns  0 if the caller has a slot, otherwise ms after which to try again
local occupied, waiting, expiry, rounds = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, class, guild = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local slots, reserve, lease = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local window, longest = tonumber(ARGV[7]), tonumber(ARGV[8])
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

-- Consecutive calls of a guild get consecutive rounds, so that each guild has one call in each round. Rounds of callers
-- that gave up are not counted: a guild that has few callers left is not put behind the rounds that they had.
local order = tonumber(redis.call('ZSCORE', waiting, id) or nil)
if not order then
  if redis.call('ZCARD', waiting) == 0 then redis.call('DEL', rounds) end
  local own = class .. ':' .. guild
  local current = tonumber(redis.call('HGET', rounds, 'now:' .. class) or 0)
  local following = tonumber(redis.call('HGET', rounds, own) or 0)
  local before = redis.call('HINCRBY', rounds, 'waiting:' .. own, 1) - 1
  local round = math.max(current, math.min(following, current + before + 1))
  redis.call('HSET', rounds, own, round + 1, 'of:' .. id, own)
  order = class * SPAN + round
  redis.call('ZADD', waiting, order, id)
end

local free = slots - redis.call('ZCARD', occupied) - reserve
local rank = redis.call('ZRANK', waiting, id)
local wait = 0
if rank < free then
  redis.call('ZREM', waiting, id)
  redis.call('ZREM', expiry, id)
  forget(id)
  redis.call('ZADD', occupied, now + lease, id)
  redis.call('HSET', rounds, 'now:' .. class, order - class * SPAN)
else
  local next = redis.call('ZRANGE', occupied, rank - free, rank - free, 'WITHSCORES')
  longest = math.min(longest, 100 + math.floor(window * rank / slots))
  wait = math.max(10, math.min(longest, next[2] and next[2] - now or longest))
  redis.call('ZADD', expiry, now + wait + GRACE, id)
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, KEY_TTL) end
return wait
