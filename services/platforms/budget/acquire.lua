-- Takes a place among the calls of one window; whoever gets none waits in the queue.
--
-- KEYS     1 places taken, by when they are free again; 2 who waits, in their order; 3 until when each of them is
--          believed to wait; 4 whose turn it is: `now:<class>`, and `<class>:<guild>` for each guild
-- ARGV     1 the caller, 2 class: 0 for the most urgent calls, 3 guild, 4 places in all, 5 places that this class leaves
--          free, 6 ms after which a place is free again whatever becomes of its holder, 7 length of a window in ms,
--          8 the most ms after which to try again
-- returns  0 for a place, else ms after which to try again
local places, waiting, seen, turns = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, class, guild = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local most, reserve, lease = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local window, longest = tonumber(ARGV[7]), tonumber(ARGV[8])
-- More turns than there will be: all of class 0 come before all of class 1.
local SPAN = 1000000000000
local GRACE = 1000
local KEPT = 60000 + window

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

redis.call('ZREMRANGEBYSCORE', places, '-inf', now)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', seen, '-inf', now, 'LIMIT', 0, 100)) do
  redis.call('ZREM', waiting, gone)
  redis.call('ZREM', seen, gone)
end

-- A guild's calls stand in line one turn after the other, so that each guild has one call in each turn.
local order = tonumber(redis.call('ZSCORE', waiting, id) or nil)
if not order then
  if redis.call('ZCARD', waiting) == 0 then redis.call('DEL', turns) end
  local current = tonumber(redis.call('HGET', turns, 'now:' .. class) or 0)
  local own = tonumber(redis.call('HGET', turns, class .. ':' .. guild) or 0)
  local turn = math.max(current, own)
  redis.call('HSET', turns, class .. ':' .. guild, turn + 1)
  order = class * SPAN + turn
  redis.call('ZADD', waiting, order, id)
end

local free = most - redis.call('ZCARD', places) - reserve
local rank = redis.call('ZRANK', waiting, id)
local wait = 0
if rank < free then
  redis.call('ZREM', waiting, id)
  redis.call('ZREM', seen, id)
  redis.call('ZADD', places, now + lease, id)
  redis.call('HSET', turns, 'now:' .. class, order - class * SPAN)
else
  local next = redis.call('ZRANGE', places, rank - free, rank - free, 'WITHSCORES')
  longest = math.min(longest, 100 + math.floor(window * rank / most))
  wait = math.max(10, math.min(longest, next[2] and next[2] - now or longest))
  redis.call('ZADD', seen, now + wait + GRACE, id)
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, KEPT) end
return wait
