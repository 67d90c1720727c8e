-- Counts wrk's answers by interval of the boot time clock, and says at the end how long
-- each took. Beside wrk's own output stand, on lines of their own,
--   STEADY begin THREAD NS                    the thread is about to start
--   STEADY THREAD SLOT GOOD BAD NEXT          its answers of an interval; it counts in NEXT now
-- and the histogram becomes a line of JSON in a file.
--
-- Arguments: an interval's length in ns, the file. STEADY_ORIGIN_NS: begin of interval 0.
local ffi = require("ffi")
ffi.cdef[[
typedef struct { long s, ns; } steady_time;
int clock_gettime(int clock, steady_time *t);
long write(int fd, const char *text, unsigned long bytes);
typedef struct { uint64_t count, limit, min, max, data[1]; } steady_stats;
]]

local CLOCK_BOOTTIME = 7 -- clock_gettime(2)
local at = ffi.new("steady_time")
local floor = math.floor
local origin, step, limit
local threads = {}

-- What done() gets to see of a thread: globals only.
count = { slot = 0, good = 0, bad = 0 }
local count = count

local function now()
  ffi.C.clock_gettime(CLOCK_BOOTTIME, at)
  return tonumber(at.s) * 1e9 + tonumber(at.ns)
end

-- Past stdio's buffer, which would keep the line until the end. So short a write to a
-- pipe is not torn (pipe(7)).
local function say(...)
  local line = string.format(...)
  ffi.C.write(1, line, #line)
end

function setup(thread)
  threads[#threads + 1] = thread
  thread:set("id", #threads)
end

function init(args)
  origin, step = tonumber(os.getenv("STEADY_ORIGIN_NS")), tonumber(args[1])
  file = args[2]
  local ns = now()
  count.slot = floor((ns - origin) / step)
  limit = origin + (count.slot + 1) * step
  say("STEADY begin %d %.0f\n", id, ns)
end

function response(status)
  local ns = now()
  if ns >= limit then
    local slot = floor((ns - origin) / step)
    say("STEADY %d %.0f %.0f %.0f %.0f\n", id, count.slot, count.good, count.bad, slot)
    count.slot, count.good, count.bad = slot, 0, 0
    limit = origin + (slot + 1) * step
  end
  if status > 399 then -- as wrk itself counts
    count.bad = count.bad + 1
  else
    count.good = count.good + 1
  end
end

-- wrk's own access to the histogram walks it from its beginning for each value, which
-- takes minutes for a wide one. Its memory is read instead, and held against what the
-- access says of it.
local function histogram(out, latency)
  local s = ffi.cast("steady_stats **", latency)[0]
  local min, max = tonumber(s.min), tonumber(s.max)
  if tonumber(s.count) == 0 or min ~= latency.min or max ~= latency.max or max >= tonumber(s.limit) then
    return
  end
  local sum, values = 0, 0
  for v = min, max do
    local n = tonumber(s.data[v])
    if n > 0 then
      sum, values = sum + n, values + 1
    end
  end
  if sum ~= tonumber(s.count) or values ~= #latency then
    return
  end
  local comma = ""
  for v = min, max do
    local n = tonumber(s.data[v])
    if n > 0 then
      out:write(comma, string.format("[%d,%.0f]", v, n))
      comma = ","
    end
  end
end

function done(summary, latency, requests)
  for i, thread in ipairs(threads) do
    local c = thread:get("count")
    io.write(string.format("STEADY %d %.0f %.0f %.0f %.0f\n", i, c.slot, c.good, c.bad, c.slot))
  end
  local out = assert(io.open(threads[1]:get("file"), "w"))
  local e = summary.errors
  out:write(string.format('{"summary":{"duration_us":%.0f,"requests":%.0f,"bytes":%.0f,', summary.duration, summary.requests, summary.bytes))
  out:write(string.format('"errors":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}},', e.connect, e.read, e.write, e.status, e.timeout))
  out:write(string.format('"latency_us":{"mean":%.3f,"stdev":%.3f,"max":%.0f,"percentiles":{', latency.mean, latency.stdev, latency.max))
  for i, p in ipairs({ 50, 75, 90, 95, 99, 99.9, 99.99 }) do
    out:write(i > 1 and "," or "", string.format('"%g":%.0f', p, latency:percentile(p)))
  end
  out:write('},"histogram":[')
  histogram(out, latency)
  out:write("]}}\n")
  out:close()
end
