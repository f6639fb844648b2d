-- How full the queue of NOTIFY is, from 0 to 1.
select pg_notification_queue_usage() as used_share
