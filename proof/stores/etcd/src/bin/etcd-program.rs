//! Says where the program etcd is, for tests of the other workspace: `DLOCK_TEST_ETCD` is the name that they know it by.

fn main() -> Result<(), impl std::fmt::Debug> {
    etcd_bin_vendored::etcd_bin_path().map(|program| println!("{}", program.display()))
}
