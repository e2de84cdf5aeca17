-- Stores the rate limits that a response reported, for all processes.
--
-- KEYS     1 pause of the whole host, 2 pause of the call's rate limit, 3 bucket of that rate limit, 4 number of
--          invalid requests by minute
-- ARGV     1 length of the pause in ms, 0 for none, 2 `1` if the whole host is paused, 3 number of requests that the
--          platform counts as invalid, 4 limit of the bucket (empty if the response reported no bucket), 5 remaining
--          calls, 6 ms until the bucket is reset, 7 ms by which the end of one window may differ between two responses
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local pause = tonumber(ARGV[1])
local paused = ARGV[2] == '1' and KEYS[1] or KEYS[2]
if pause > 0 and pause > redis.call('PTTL', paused) then redis.call('SET', paused, 1, 'PX', pause) end

if tonumber(ARGV[3]) > 0 then
  local minute = math.floor(time[1] / 60)
  redis.call('HINCRBY', KEYS[4], minute, ARGV[3])
  redis.call('EXPIRE', KEYS[4], 660)
  for _, field in ipairs(redis.call('HKEYS', KEYS[4])) do
    if tonumber(field) <= minute - 10 then redis.call('HDEL', KEYS[4], field) end
  end
end

if ARGV[4] ~= '' then
  local remaining, ends = tonumber(ARGV[5]), now + tonumber(ARGV[6])
  local known = redis.call('HMGET', KEYS[3], 'remaining', 'ends')
  -- Among calls in flight together, the response with the lower number was the later one at the platform.
  if known[1] and tonumber(known[2]) > now and math.abs(tonumber(known[2]) - ends) < tonumber(ARGV[7]) then
    remaining = math.min(remaining, tonumber(known[1]))
  end
  redis.call('HSET', KEYS[3], 'limit', ARGV[4], 'remaining', remaining, 'ends', ends)
  redis.call('PEXPIRE', KEYS[3], tonumber(ARGV[6]) + 60000)
end
return 0
