-- Decides a batch of requests in order. Each request counts towards all of its limits, or is rejected and counts
-- towards none.
--
-- KEYS     one for each limit of each request, all in one slot; each holds "window:count"
-- ARGV     1 length of a window in ms, then for each request:
--            the number of its limits, the number of the window that the caller's counts belong to,
--            the deadline of the caller in Unix ms of this clock (0 = none),
--            then for each limit: the allowed requests, the requests that the caller has counted
-- returns  the number of the window, ms until it ends, then for each request:
--            1 = allowed, 0 = rejected, -1 = the deadline has passed, so the caller decided without Redis and nothing
--            was counted; then the count of each limit
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

local reply = { window, rest }
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
    -- The caller's count is higher if Redis has restarted, or was unreachable while the caller counted alone.
    local known = tonumber(ARGV[at + 1])
    if callers_window and allowed >= 0 and known > counts[KEYS[i]] then set(KEYS[i], known) end
    if allowed == 1 and counts[KEYS[i]] >= tonumber(ARGV[at]) then allowed = 0 end
  end
  reply[#reply + 1] = allowed
  for i = first, last do
    if allowed == 1 then set(KEYS[i], counts[KEYS[i]] + 1) end
    reply[#reply + 1] = counts[KEYS[i]]
  end
  argument = argument + 2 * (last - first + 1)
  first = last + 1
end

for key in pairs(changed) do
  -- A second longer than the window, so that a key never expires before its window ends.
  redis.call('SET', key, string.format('%d:%d', window, counts[key]), 'PX', string.format('%d', rest + 1000))
end

return reply
