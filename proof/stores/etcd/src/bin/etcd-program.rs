//! Prints the path of the program etcd, for tests of the other workspace, which read it from `DLOCK_TEST_ETCD`.

fn main() -> Result<(), impl std::fmt::Debug> {
    etcd_bin_vendored::etcd_bin_path().map(|program| println!("{}", program.display()))
}
