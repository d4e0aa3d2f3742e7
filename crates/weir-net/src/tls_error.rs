//! What can be wrong with certificate files and TLS settings, in words an operator can act on.

use std::io;
use std::path::PathBuf;

/// Why a TLS context could not be built.
///
/// Every message names the file or setting and says what to do. No message ever contains bytes of a key file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A PEM file could not be opened or read.
    #[error("cannot read the {what} file {}: {source}; check the path and that the user Weir runs as may read it", .path.display())]
    Read {
        /// What the file was to give, for instance `certificate`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// A PEM file is larger than [`MAX_PEM_FILE_BYTES`](crate::MAX_PEM_FILE_BYTES).
    #[error("the {what} file {} is larger than {limit} bytes, so it is not a PEM file of certificates or a key; check the path", .path.display())]
    TooLarge {
        /// What the file was to give.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The file holds text, but its PEM framing or base64 is damaged.
    #[error("the {what} file {} is damaged: a PEM section in it cannot be decoded; write the file anew", .path.display())]
    DamagedPem {
        /// What the file was to give.
        what: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// No `BEGIN CERTIFICATE` section was found.
    #[error("no certificate in the {what} file {}; it must hold PEM text starting with -----BEGIN CERTIFICATE----- (convert DER with: openssl x509 -inform der)", .path.display())]
    NoCertificate {
        /// What the file was to give.
        what: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A certificate is not valid X.509.
    #[error("certificate {number} in the {what} file {} is not valid X.509; inspect it with: openssl x509 -text", .path.display())]
    BadCertificate {
        /// What the file was to give.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Which certificate of the file, counted from 1.
        number: usize,
    },
    /// No private key section was found.
    #[error("no private key in the file {}; it must hold an unencrypted PEM key (PKCS#8, PKCS#1 or SEC1)", .path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The private key is protected by a passphrase.
    #[error("the private key in {} is encrypted; Weir cannot ask for a passphrase: decrypt it with: openssl pkey -in FILE -out NEWFILE", .path.display())]
    EncryptedKey {
        /// The file.
        path: PathBuf,
    },
    /// The key was decoded but is of a kind or size that cannot sign TLS handshakes here.
    #[error("the private key in {} cannot be used; Weir takes RSA of 2048 to 8192 bits, ECDSA P-256, P-384, P-521 and Ed25519", .path.display())]
    UnusableKey {
        /// The file.
        path: PathBuf,
    },
    /// Certificate and key belong to different pairs.
    #[error("the private key in {} does not belong to the first certificate in {}; put the server's own certificate first and use its key", .key.display(), .cert.display())]
    KeyMismatch {
        /// The certificate file.
        cert: PathBuf,
        /// The key file.
        key: PathBuf,
    },
    /// A verifying mode was asked for without a CA file.
    #[error(
        "TLS mode {mode} needs the CA certificate that signed the server's certificate; set `ca` (MySQL keeps its own in ca.pem of its data directory)"
    )]
    CaMissing {
        /// The mode, as written in the configuration.
        mode: &'static str,
    },
    /// Client certificates are required but nothing says whom to trust.
    #[error(
        "client certificates are required but no client CA is set; set `client_ca` to the CA that signs them"
    )]
    ClientCaMissing,
    /// The host cannot stand in a certificate.
    #[error("{host:?} is neither a host name nor an IP address that a certificate can name")]
    BadServerName {
        /// The host as configured.
        host: String,
    },
    /// The self-signed certificate could not be made.
    #[error("cannot make a self-signed certificate for {names:?}: {reason}")]
    SelfSigned {
        /// The names that were to stand in it.
        names: Vec<String>,
        /// What the certificate library objected to.
        reason: String,
    },
    /// The TLS library refused the settings.
    #[error("the TLS library refused the settings: {0}")]
    Rustls(#[from] rustls::Error),
}
