-- In an open transaction now() stands still: does the hold of the session that asks still last?
select now() < statement_timestamp()
