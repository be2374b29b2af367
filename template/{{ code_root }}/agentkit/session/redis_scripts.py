"""What the Redis store does on the server, each in one step that no other client can split.

A session is a list of rows and a hash beside it. `length` in the hash counts the trimmed rows as
well, so the first row of the list has the index `length` minus the list's length. Sorted sets, by
the time of the last change, hold the ids of all sessions and of each user's.
"""

from __future__ import annotations

# KEYS: rows, meta, index.  ARGV: id, at, token, now, time to live in ms (0: for ever), rows to keep
# (0: all), prefix of the users' indexes, "u" and the user's id (or nothing), the rows.
# Returns -1, or the length that the session has instead of `at`.
APPEND = """
local length = tonumber(redis.call('HGET', KEYS[2], 'length') or 0)
if redis.call('HGET', KEYS[2], 'token') == ARGV[3] then return -1 end
if length ~= tonumber(ARGV[2]) then return length end
if #ARGV == 8 then return -1 end
if length == 0 then redis.call('DEL', KEYS[1]) end
for i = 9, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[i]) end
if ARGV[6] ~= '0' then redis.call('LTRIM', KEYS[1], -tonumber(ARGV[6]), -1) end
redis.call('HSET', KEYS[2], 'length', length + #ARGV - 8, 'updated', ARGV[4], 'token', ARGV[3])
if ARGV[8] ~= '' then redis.call('HSETNX', KEYS[2], 'user', string.sub(ARGV[8], 2)) end
local indexes, user = {KEYS[3]}, redis.call('HGET', KEYS[2], 'user')
if user then indexes[2] = ARGV[7] .. user end
for _, index in ipairs(indexes) do redis.call('ZADD', index, ARGV[4], ARGV[1]) end
local ttl = tonumber(ARGV[5])
for _, key in ipairs({KEYS[1], KEYS[2], unpack(indexes)}) do
  if ttl > 0 then redis.call('PEXPIRE', key, ttl) else redis.call('PERSIST', key) end
end
if ttl > 0 then
  local oldest = '(' .. (tonumber(ARGV[4]) - ttl / 1000)
  for _, index in ipairs(indexes) do redis.call('ZREMRANGEBYSCORE', index, '-inf', oldest) end
end
return -1
"""

# KEYS: rows, meta.  ARGV: the first index wanted.
# Returns the first index that is left, and the rows from the wanted one on.
LOAD = """
local length = tonumber(redis.call('HGET', KEYS[2], 'length') or 0)
if length == 0 then return {0, {}} end
local first = length - redis.call('LLEN', KEYS[1])
local from = tonumber(ARGV[1]) - first
return {first, redis.call('LRANGE', KEYS[1], math.max(from, 0), -1)}
"""

# KEYS: rows, meta, index.  ARGV: id, prefix of the users' indexes.
DELETE = """
local user = redis.call('HGET', KEYS[2], 'user')
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[1])
if user then redis.call('ZREM', ARGV[2] .. user, ARGV[1]) end
"""

# KEYS: the lease.  ARGV: owner, milliseconds.
TAKE = """
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
EXTEND = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end"
RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"
