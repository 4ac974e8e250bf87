-- The record, if there is one. The owner is read as bytes, so that the session's character set does not change it.
SELECT TRUE, {sound}, l.uuid, l.renewals, CAST(l.owner AS BINARY), l.since, l.token, l.duration, l.released,
    l.asked, l.wanted, l.data, l.expiry
INTO v_found, v_sound, v_uuid, v_renewals, v_owner, v_since, v_token, v_duration, v_released,
    v_asked, v_wanted, v_data, v_expiry
FROM {table} AS l WHERE l.prefix = p_prefix AND l.name = p_name
