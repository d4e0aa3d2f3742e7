//! Certificates for tests: an authority, a server and a client signed by it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

/// Paths of PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certs {
    pub ca: PathBuf,
    pub server_cert: PathBuf,
    pub server_key: PathBuf,
    pub client_cert: PathBuf,
    pub client_key: PathBuf,
}

impl Certs {
    /// Makes a new authority and, signed by it, a server certificate for `localhost`, 127.0.0.1 and ::1 and a
    /// client certificate, in a new folder. Valid from 1975 to 4096, so that a wrong clock does no harm.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn generate(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let paths = Self::in_folder(folder);
        let ca_key = KeyPair::generate()?;
        let mut ca = CertificateParams::new(Vec::new())?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.distinguished_name.push(DnType::CommonName, "Weir test authority");
        fs::write(&paths.ca, ca.self_signed(&ca_key)?.pem())?;
        let issuer = Issuer::new(ca, ca_key);

        let names = ["localhost", "127.0.0.1", "::1"].map(String::from).to_vec();
        let roles = [
            (
                names,
                "Weir test server",
                ExtendedKeyUsagePurpose::ServerAuth,
                &paths.server_cert,
                &paths.server_key,
            ),
            (
                Vec::new(),
                "Weir test client",
                ExtendedKeyUsagePurpose::ClientAuth,
                &paths.client_cert,
                &paths.client_key,
            ),
        ];
        for (names, common_name, purpose, cert_path, key_path) in roles {
            let key = KeyPair::generate()?;
            let mut params = CertificateParams::new(names)?;
            params.distinguished_name.push(DnType::CommonName, common_name);
            params.extended_key_usages = vec![purpose];
            fs::write(cert_path, params.signed_by(&key, &issuer)?.pem())?;
            fs::write(key_path, key.serialize_pem())?;
        }
        Ok(paths)
    }

    /// The paths that [`Certs::generate`] writes in a folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            ca: folder.join("ca.pem"),
            server_cert: folder.join("server.pem"),
            server_key: folder.join("server.key"),
            client_cert: folder.join("client.pem"),
            client_key: folder.join("client.key"),
        }
    }

    /// The paths of the certificates that a MySQL server makes in its data directory at its first start.
    pub fn made_by_mysql(data: &Path) -> Self {
        Self {
            ca: data.join("ca.pem"),
            server_cert: data.join("server-cert.pem"),
            server_key: data.join("server-key.pem"),
            client_cert: data.join("client-cert.pem"),
            client_key: data.join("client-key.pem"),
        }
    }
}
