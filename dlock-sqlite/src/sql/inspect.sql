-- The owner of the file. No parameters.
-- Result: one row: application id, version of the layout, number of things in the schema. One
-- statement, so that a creator's commit cannot fall between two reads.
SELECT (SELECT application_id FROM pragma_application_id),
       (SELECT user_version FROM pragma_user_version),
       (SELECT count(*) FROM sqlite_schema);
