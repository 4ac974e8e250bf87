//! Certificates that a test creates for itself.

use std::{
    fs,
    io::{self, Error},
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::postgres::unprivileged;

/// An authority, and a server's certificate signed by it: PEM files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Certificates {
    /// The authority's certificate, for clients to trust.
    pub authority: PathBuf,
    /// The server's certificate.
    pub certificate: PathBuf,
    /// The server's key.
    pub key: PathBuf,
}

impl Certificates {
    /// For a server of this name, in this folder, which is created if it is missing.
    ///
    /// # Errors
    /// If they cannot be made or written.
    pub fn new(folder: &Path, host: &str) -> io::Result<Self> {
        let mut params = CertificateParams::default();
        // Of another name than what it signs: OpenSSL treats a certificate that names itself as its issuer as
        // self-signed.
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, "an authority of tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = KeyPair::generate().map_err(Error::other)?;
        let authority = CertifiedIssuer::self_signed(params, issuer).map_err(Error::other)?;
        let key = KeyPair::generate().map_err(Error::other)?;
        let certificate = CertificateParams::new([host.to_owned()])
            .and_then(|params| params.signed_by(&key, &authority))
            .map_err(Error::other)?;
        Self::write(folder, &authority.pem(), &certificate.pem(), &key)
    }

    /// For a server that signed its certificate itself, as an authority, like openssl.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn of_itself(folder: &Path, host: &str) -> io::Result<Self> {
        let key = KeyPair::generate().map_err(Error::other)?;
        let mut params = CertificateParams::new([host.to_owned()]).map_err(Error::other)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).map_err(Error::other)?.pem();
        Self::write(folder, &certificate, &certificate, &key)
    }

    fn write(folder: &Path, authority: &str, certificate: &str, key: &KeyPair) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).map(|()| path)
        };
        let files = Self {
            authority: file("authority.pem", authority)?,
            certificate: file("certificate.pem", certificate)?,
            key: file("key.pem", &key.serialize_pem())?,
        };
        fs::set_permissions(&files.key, fs::Permissions::from_mode(0o600))?;
        Ok(files)
    }

    /// Lets PostgreSQL read them: in a process of root it runs as another user, and requires its key
    /// to be its own. Opens their folder and the one around it.
    ///
    /// # Errors
    /// If there is no such user, or the files do not belong to this process.
    pub fn for_postgres(self) -> io::Result<Self> {
        if fs::metadata(&self.key)?.uid() == 0 {
            let user = unprivileged()?;
            chown(&self.key, Some(user.uid), Some(user.gid))?;
            for folder in self.key.ancestors().skip(1).take(2) {
                fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
            }
        }
        Ok(self)
    }
}
