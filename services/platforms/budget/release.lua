-- Removes a caller from the queue, or releases its slot, which becomes free one window later.
--
-- KEYS     1 sorted set of occupied slots, 2 sorted set of waiting callers, 3 sorted set of the times at which they
--          expire, 4 hash of the rounds, 5 sorted set of the slots that the guild occupies, as in acquire.lua
-- ARGV     1 ID of the caller, 2 length of the window in ms
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZADD', KEYS[1], 'XX', now + tonumber(ARGV[2]), ARGV[1])
redis.call('ZADD', KEYS[5], 'XX', now + tonumber(ARGV[2]), ARGV[1])
local own = redis.call('HGET', KEYS[4], 'of:' .. ARGV[1])
if own then
  redis.call('HDEL', KEYS[4], 'of:' .. ARGV[1])
  if redis.call('HINCRBY', KEYS[4], 'waiting:' .. own, -1) <= 0 then redis.call('HDEL', KEYS[4], 'waiting:' .. own) end
end
return 0
