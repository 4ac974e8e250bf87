//! The certificate of a client, for servers that identify their clients by one: two files (PEM), which may be one.

use std::fs;
use std::path::PathBuf;

use super::query::Query;
use crate::{StoreError, text::harmless};

/// The files of the certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Files {
    certificate: String,
    key: String,
}

impl Files {
    /// `sslcert` and `sslkey`, both or neither.
    pub(crate) fn take(query: &mut Query<'_>) -> Result<Option<Self>, StoreError> {
        Self::new(query.take("sslcert")?, query.take("sslkey")?)
    }

    pub(crate) fn new(
        certificate: Option<String>,
        key: Option<String>,
    ) -> Result<Option<Self>, StoreError> {
        match (certificate, key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => Ok(Some(Self { certificate, key })),
            _ => Err(StoreError::no_location(
                "a certificate is of no use without its key, nor the key without the certificate: sslcert and sslkey",
            )),
        }
    }

    /// The same, where the connection may have no TLS.
    pub(crate) fn take_over_tls(
        query: &mut Query<'_>,
        over_tls: bool,
        scheme: &str,
    ) -> Result<Option<Self>, StoreError> {
        let files = Self::take(query)?;
        if files.is_some() && !over_tls {
            return Err(StoreError::no_location(&format!(
                "a certificate is a part of TLS: use {scheme}"
            )));
        }
        Ok(files)
    }

    /// Their paths, once it is known that they can be read.
    pub(crate) fn paths(&self) -> Result<(PathBuf, PathBuf), StoreError> {
        self.read()?;
        Ok(((&self.certificate).into(), (&self.key).into()))
    }

    /// The contents of the two files.
    pub(crate) fn read(&self) -> Result<(Vec<u8>, Vec<u8>), StoreError> {
        let read = |file: &str| {
            fs::read(file).map_err(|error| {
                StoreError::unusable(format!("can't read {}", harmless(file))).because(error)
            })
        };
        Ok((read(&self.certificate)?, read(&self.key)?))
    }

    /// The files do not contain a certificate with its key.
    pub(crate) fn useless(&self) -> StoreError {
        let Self { certificate, key } = self;
        StoreError::unusable(format!(
            "{} and {} are no certificate with its key",
            harmless(certificate),
            harmless(key)
        ))
        .advise("they are text (PEM), the key without a password")
    }
}
