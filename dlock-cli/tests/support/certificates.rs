//! Certificates that a test makes for itself.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
};

use dlock_test_servers::User;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// An authority, and a server's certificate signed by it, as files.
pub(crate) struct Certificates {
    pub(crate) authority: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificates {
    /// For a server of this name, in this folder.
    pub(crate) fn new(folder: &Path, host: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new([host.to_owned()])
            .unwrap()
            .signed_by(&key, &authority)
            .unwrap();
        Self::write(folder, &authority.pem(), &certificate.pem(), &key)
    }

    /// For a server that signed its certificate itself, as an authority, as openssl does.
    pub(crate) fn of_itself(folder: &Path, host: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap().pem();
        Self::write(folder, &certificate, &certificate, &key)
    }

    fn write(folder: &Path, authority: &str, certificate: &str, key: &KeyPair) -> Self {
        fs::create_dir_all(folder).unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let files = Self {
            authority: file("authority.pem", authority),
            certificate: file("certificate.pem", certificate),
            key: file("key.pem", &key.serialize_pem()),
        };
        fs::set_permissions(&files.key, fs::Permissions::from_mode(0o600)).unwrap();
        files
    }

    /// Lets PostgreSQL read them: in a process of root it runs as somebody else, and wants its key
    /// for itself.
    pub(crate) fn for_postgres(self) -> Self {
        if rustix::process::geteuid().is_root() {
            let user = User::named("postgres")
                .or_else(|_| User::named("nobody"))
                .unwrap();
            chown(&self.key, Some(user.uid), Some(user.gid)).unwrap();
            let open = |folder: &Path| {
                fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
            };
            let folder = self.key.parent().unwrap();
            open(folder);
            open(folder.parent().unwrap());
        }
        self
    }
}
