//! The parts of a queue in the database: its tables, their columns and indexes, its functions, and the files that make
//! them.

/// The layout that this release makes and understands.
pub(super) const LAYOUT: i32 = 1;

pub(super) const TABLES: [&str; 9] = [
    "task", "done", "schedule", "paused", "limit", "slot", "held", "changed", "layout",
];

/// The indexes that calls depend on: without one they read every row.
pub(super) const INDEXES: [&str; 7] = [
    "due",
    "at_once",
    "key",
    "lane",
    "held_uuid",
    "changed_lane",
    "done_ended",
];

/// The version of the functions, which is part of their names. A release that changes a function's parameters, its
/// answers or its effect has the next number, so that processes of two releases can work on one queue while one
/// replaces the other, and an existing schema gets the functions of both.
pub(super) const VERSION: u32 = 1;

/// The functions.
pub(super) const FUNCTIONS: [&str; 32] = [
    "sound",
    "state",
    "lane",
    "gate",
    "fresh",
    "silence",
    "lost",
    "failed",
    "move",
    "bucket",
    "tell",
    "enqueue",
    "periodic",
    "line_up",
    "settle",
    "room",
    "keep",
    "claim",
    "before",
    "end",
    "finish",
    "release",
    "renew",
    "checkpoint",
    "checkpoint_strictly",
    "stale",
    "unreadable",
    "complete",
    "cancel",
    "retry",
    "pause",
    "set_limit",
];

/// The functions that users may call. Their names stay.
pub(super) const PUBLIC: [&str; 2] = ["dlock_enqueue", "dlock_complete"];

/// The files that make the schema.
pub(super) const FILES: [&str; 21] = [
    include_str!("../sql/tasks/tables.sql"),
    include_str!("../sql/tasks/lanes.sql"),
    include_str!("../sql/tasks/move.sql"),
    include_str!("../sql/tasks/tell.sql"),
    include_str!("../sql/tasks/enqueue.sql"),
    include_str!("../sql/tasks/periodic.sql"),
    include_str!("../sql/tasks/room.sql"),
    include_str!("../sql/tasks/held.sql"),
    include_str!("../sql/tasks/claim.sql"),
    include_str!("../sql/tasks/lookback.sql"),
    include_str!("../sql/tasks/end.sql"),
    include_str!("../sql/tasks/finish.sql"),
    include_str!("../sql/tasks/release.sql"),
    include_str!("../sql/tasks/renew.sql"),
    include_str!("../sql/tasks/checkpoint.sql"),
    include_str!("../sql/tasks/strict.sql"),
    include_str!("../sql/tasks/public.sql"),
    include_str!("../sql/tasks/cancel.sql"),
    include_str!("../sql/tasks/retry.sql"),
    include_str!("../sql/tasks/pause.sql"),
    include_str!("../sql/tasks/limit.sql"),
];

/// The common parts of statements that look for tasks and give them out.
pub(super) const PARTS: [(&str, &str); 6] = [
    ("{bury}", include_str!("../sql/tasks/bury.sql")),
    ("{waits}", include_str!("../sql/tasks/waits.sql")),
    ("{starts}", include_str!("../sql/tasks/starts.sql")),
    ("{due}", include_str!("../sql/tasks/due.sql")),
    ("{term}", include_str!("../sql/tasks/term.sql")),
    ("{shown}", include_str!("../sql/tasks/shown.sql")),
];

/// The columns of the tables, and their types.
pub(super) const COLUMNS: [(&str, &[&str]); 8] = [
    (
        "task",
        &[
            "id int8",
            "queue text",
            "priority int2",
            "run_at timestamptz",
            "max_attempts int4",
            "kind text",
            "key text",
            "key_until_start bool",
            "lane text",
            "payload json",
            "created timestamptz",
            "behind bool",
            "errors jsonb",
            "checkpoint json",
            "attempt int4",
            "checkpoints int8",
            "token int8",
            "uuid uuid",
            "renewals int8",
            "owner text",
            "since timestamptz",
            "duration int8",
            "expiry timestamptz",
            "released bool",
            "asked bool",
            "ending int8",
            "became text",
        ],
    ),
    (
        "done",
        &[
            "id int8",
            "queue text",
            "priority int2",
            "run_at timestamptz",
            "attempt int4",
            "max_attempts int4",
            "kind text",
            "key text",
            "key_until_start bool",
            "lane text",
            "payload json",
            "errors jsonb",
            "created timestamptz",
            "checkpoint json",
            "token int8",
            "state text",
            "output json",
            "ending int8",
            "ended timestamptz",
        ],
    ),
    ("schedule", &["name text", "last timestamptz"]),
    ("paused", &["queue text", "since timestamptz"]),
    ("limit", &["queue text", "most int8"]),
    ("slot", &["queue text", "id int8", "token int8"]),
    ("held", &["uuid uuid", "ids _int8"]),
    ("changed", &["queue text", "lane text"]),
];
