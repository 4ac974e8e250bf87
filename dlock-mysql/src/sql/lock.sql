-- The same, and locks its row until the transaction ends.
{look} FOR UPDATE;
SET v_now = {now};
