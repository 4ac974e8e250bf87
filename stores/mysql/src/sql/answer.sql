-- The end of each procedure: one row, as `record.rs` reads it: the record shown, the store's clock, the verdict.
COMMIT AND NO CHAIN NO RELEASE;
SELECT v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released, v_asked, v_wanted, v_data, v_expiry, v_now,
    v_verdict;
