-- Leaves the line, or a place, which is free again a window later.
--
-- KEYS     1 places taken, 2 who waits, 3 until when each of them is believed to wait
-- ARGV     1 who leaves, 2 length of a window in ms
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZADD', KEYS[1], 'XX', now + tonumber(ARGV[2]), ARGV[1])
return 0
