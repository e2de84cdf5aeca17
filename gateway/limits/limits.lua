-- Decides all limits of one request: all pass and all are counted, or none is.
--
-- KEYS     one for each limit, all in one slot; each holds "window:count"
-- ARGV     1 length of a window in ms, 2 the window that the caller's counts are of,
--          3 until when the caller waits, in Unix ms of this clock; 0 = for ever,
--          then for each limit: how many may pass, how many have passed that the caller knows of
-- answer   1 or 0 for passed or refused, the window's number, ms until it ends, then the count of each limit;
--          -1 when nobody waits any more: nothing was counted, since the caller has decided without
local length = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window = math.floor(now / length)
local rest = (window + 1) * length - now
local callers_window = tonumber(ARGV[2]) == window
local deadline = tonumber(ARGV[3])
if deadline > 0 and now > deadline then return { -1, window, rest } end

local allowed = 1
local raised = false
local counts = {}
local stored = redis.call('MGET', unpack(KEYS))
for i = 1, #KEYS do
  local count = 0
  if stored[i] then
    local at, counted = string.match(stored[i], '^(%d+):(%d+)$')
    if tonumber(at) == window then count = tonumber(counted) end
  end
  -- Counts that were lost with a restart, or made while this server was out of reach.
  local known = tonumber(ARGV[2 * i + 3])
  if callers_window and known > count then
    count = known
    raised = true
  end
  if count >= tonumber(ARGV[2 * i + 2]) then allowed = 0 end
  counts[i] = count
end

for i = 1, #KEYS do
  counts[i] = counts[i] + allowed
  if allowed == 1 or raised then
    -- A little longer than the window: a key never ends before its window does.
    redis.call('SET', KEYS[i], string.format('%d:%d', window, counts[i]), 'PX', string.format('%d', rest + 1000))
  end
end

return { allowed, window, rest, unpack(counts) }
