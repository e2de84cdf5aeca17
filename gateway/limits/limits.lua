-- Decides all limits of some requests, one request after another: all of its limits pass and are counted, or none.
--
-- KEYS     one for each limit of each request, all in one slot; each holds "window:count"
-- ARGV     1 length of a window in ms, then for each request:
--            how many limits it has, the window that its caller's counts are of,
--            until when its caller waits, in Unix ms of this clock; 0 = for ever,
--            then for each limit: how many may pass, how many have passed that the caller knows of
-- answer   the window's number, ms until it ends, then for each request:
--            1 or 0 for passed or refused, then the count of each limit;
--            -1 when nobody waits any more: nothing was counted, since the caller has decided without
local length = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window = math.floor(now / length)
local rest = (window + 1) * length - now

local counts = {}
local stored = redis.call('MGET', unpack(KEYS))
for i, key in ipairs(KEYS) do
  counts[key] = 0
  if stored[i] then
    local at, counted = string.match(stored[i], '^(%d+):(%d+)$')
    if tonumber(at) == window then counts[key] = tonumber(counted) end
  end
end

local changed = {}
local function set(key, count)
  counts[key] = count
  changed[key] = true
end

local answer = { window, rest }
local first, argument = 1, 2
while argument <= #ARGV do
  local last = first + tonumber(ARGV[argument]) - 1
  local callers_window = tonumber(ARGV[argument + 1]) == window
  local deadline = tonumber(ARGV[argument + 2])
  argument = argument + 3

  local allowed = 1
  if deadline > 0 and now > deadline then allowed = -1 end
  for i = first, last do
    local at = argument + 2 * (i - first)
    -- Counts that were lost with a restart, or made while this server was out of reach.
    local known = tonumber(ARGV[at + 1])
    if callers_window and allowed >= 0 and known > counts[KEYS[i]] then set(KEYS[i], known) end
    if allowed == 1 and counts[KEYS[i]] >= tonumber(ARGV[at]) then allowed = 0 end
  end
  answer[#answer + 1] = allowed
  for i = first, last do
    if allowed == 1 then set(KEYS[i], counts[KEYS[i]] + 1) end
    answer[#answer + 1] = counts[KEYS[i]]
  end
  argument = argument + 2 * (last - first + 1)
  first = last + 1
end

for key in pairs(changed) do
  -- A little longer than the window: a key never ends before its window does.
  redis.call('SET', key, string.format('%d:%d', window, counts[key]), 'PX', string.format('%d', rest + 1000))
end

return answer
