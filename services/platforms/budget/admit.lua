-- Says whether a call may be made now, by what the responses to all processes told.
--
-- KEYS     1 pause of the whole host, 2 pause of the call's rate limit, 3 bucket of that limit, 4 invalid requests by
--          minute
-- ARGV     1 invalid requests of ten minutes from which on no call is made, 0 for any number, 2 ms for which a full
--          bucket is assumed when its window has ended
-- returns  what is to be done, ms, invalid requests of the last ten minutes: `call`; `pause`, rejected for so long;
--          `wait`, try again then
local most, untold = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local minute = math.floor(time[1] / 60)
local invalid = 0
local counts = redis.call('HGETALL', KEYS[4])
for index = 1, #counts, 2 do
  if tonumber(counts[index]) > minute - 10 then invalid = invalid + tonumber(counts[index + 1]) end
end
if most > 0 and invalid >= most then return { 'pause', 60000 - now % 60000, invalid } end

local pause = math.max(redis.call('PTTL', KEYS[1]), redis.call('PTTL', KEYS[2]))
if pause > 0 then return { 'pause', pause, invalid } end

local bucket = redis.call('HMGET', KEYS[3], 'limit', 'remaining', 'ends')
if not bucket[1] then return { 'call', 0, invalid } end
local remaining, ends = tonumber(bucket[2]), tonumber(bucket[3])
if ends <= now then
  remaining, ends = tonumber(bucket[1]), now + untold
  redis.call('HSET', KEYS[3], 'ends', ends)
end
if remaining <= 0 then return { 'wait', math.max(1, ends - now), invalid } end
redis.call('HSET', KEYS[3], 'remaining', remaining - 1)
redis.call('PEXPIRE', KEYS[3], ends - now + 60000)
return { 'call', 0, invalid }
