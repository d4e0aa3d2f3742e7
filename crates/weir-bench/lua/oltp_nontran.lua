-- The statements of oltp_read_write, with the reads outside of the transaction and the writes inside of it: what an
-- application does that opens a transaction only to change something.
--
-- It is built on sysbench's own oltp_common, so all of its options work here as they do there.

require("oltp_common")

function prepare_statements()
   prepare_begin()
   prepare_commit()

   prepare_point_selects()
   if sysbench.opt.range_selects then
      prepare_simple_ranges()
      prepare_sum_ranges()
      prepare_order_ranges()
      prepare_distinct_ranges()
   end

   prepare_index_updates()
   prepare_non_index_updates()
   prepare_delete_inserts()
end

function event()
   execute_point_selects()
   if sysbench.opt.range_selects then
      execute_simple_ranges()
      execute_sum_ranges()
      execute_order_ranges()
      execute_distinct_ranges()
   end

   begin()
   execute_index_updates()
   execute_non_index_updates()
   execute_delete_inserts()
   commit()
end
