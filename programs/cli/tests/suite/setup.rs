//! `dlock setup` of a file. Each kind of server has the same test in its own file.

use crate::support::{Scene, stores::two_setups_at_once_disturb_nobody};

#[test]
fn two_setups_at_once_leave_holders_their_leases() {
    two_setups_at_once_disturb_nobody(&Scene::new(), || {});
}
