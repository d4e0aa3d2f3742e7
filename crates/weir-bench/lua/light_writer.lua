-- A light writer: one update of an indexed column, then a rest. It runs beside readers, to show what a write now and
-- then does to those who only read.

require("oltp_common")

local ffi = require("ffi")
ffi.cdef("int usleep(unsigned int microseconds);")

-- Milliseconds between one update and the next.
sysbench.cmdline.options.rest_ms = {"Milliseconds of rest after each update", 15}

function prepare_statements()
   prepare_index_updates()
end

function event()
   execute_index_updates()
   ffi.C.usleep(sysbench.opt.rest_ms * 1000)
end
