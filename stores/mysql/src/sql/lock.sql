-- Like look.sql, but locks the row until the transaction ends.
{look} FOR UPDATE;
SET v_now = {now};
