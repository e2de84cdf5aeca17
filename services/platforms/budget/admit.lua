-- Decides whether a call may be made now, from the rate limits that the responses to all processes reported.
--
-- KEYS     1 pause of the whole host, 2 pause of the call's rate limit, 3 bucket of that rate limit, 4 number of
--          invalid requests by minute
-- ARGV     1 number of invalid requests in ten minutes at which no call is made, 0 for no limit, 2 assumed length in ms
--          of the window that follows one whose end is known, 3 `1` if the call takes its place in the bucket, `0` if
--          it has done so before and is about to be sent
-- returns  the decision, ms, the number of invalid requests in the last ten minutes. The decision is `call`, `pause`
--          (reject calls for that many ms) or `wait` (try again after that many ms)
local max_invalid, assumed_window = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local minute = math.floor(time[1] / 60)
local invalid = 0
local counts = redis.call('HGETALL', KEYS[4])
for index = 1, #counts, 2 do
  if tonumber(counts[index]) > minute - 10 then invalid = invalid + tonumber(counts[index + 1]) end
end
if max_invalid > 0 and invalid >= max_invalid then return { 'pause', 60000 - now % 60000, invalid } end

local pause = math.max(redis.call('PTTL', KEYS[1]), redis.call('PTTL', KEYS[2]))
if pause > 0 then return { 'pause', pause, invalid } end

if ARGV[3] == '0' then return { 'call', 0, invalid } end
local bucket = redis.call('HMGET', KEYS[3], 'limit', 'remaining', 'ends')
if not bucket[1] then return { 'call', 0, invalid } end
local remaining, ends = tonumber(bucket[2]), tonumber(bucket[3])
if ends <= now then
  remaining, ends = tonumber(bucket[1]), now + assumed_window
  redis.call('HSET', KEYS[3], 'ends', ends)
end
if remaining <= 0 then return { 'wait', math.max(1, ends - now), invalid } end
redis.call('HSET', KEYS[3], 'remaining', remaining - 1)
redis.call('PEXPIRE', KEYS[3], ends - now + 60000)
return { 'call', 0, invalid }
