//! Certificates for tests, of every kind that stands around MySQL servers.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, SigningKey, date_time_ymd,
};
use tempfile::TempDir;
use x509_parser::prelude::{FromDer, X509Certificate};

/// A folder of PEM files, gone with the test.
pub(crate) struct Folder(TempDir);

/// A certificate with the key that belongs to it.
pub(crate) struct Pair {
    pub der: Vec<u8>,
    pub key: KeyPair,
    pub subject: DistinguishedName,
}

/// What stands in a certificate.
#[derive(Clone)]
pub(crate) struct Spec {
    pub common_name: &'static str,
    pub alternative_names: &'static [&'static str],
    pub ca: bool,
    pub days: std::ops::Range<i64>,
    pub usage: Vec<ExtendedKeyUsagePurpose>,
    pub key_usage: Vec<KeyUsagePurpose>,
    /// Without basic constraints, so that it neither claims nor denies to be a CA.
    pub plain: bool,
    /// As a CA, only for names below example.com.
    pub constrained: bool,
    /// An extension that nobody knows and that must not be ignored.
    pub strange: bool,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            common_name: "localhost",
            alternative_names: &[],
            ca: false,
            days: -1..100,
            usage: Vec::new(),
            key_usage: Vec::new(),
            plain: false,
            constrained: false,
            strange: false,
        }
    }
}

impl Spec {
    pub fn named(common_name: &'static str) -> Self {
        Self { common_name, ..Self::default() }
    }

    pub fn ca(common_name: &'static str) -> Self {
        Self { common_name, ca: true, ..Self::default() }
    }

    fn params(&self) -> CertificateParams {
        let names: Vec<String> = self.alternative_names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, self.common_name);
        params.is_ca = if self.plain {
            IsCa::NoCa
        } else if self.ca {
            IsCa::Ca(BasicConstraints::Unconstrained)
        } else {
            IsCa::ExplicitNoCa
        };
        params.not_before = date_time_ymd(1970, 1, 1) + seconds_from_now(self.days.start);
        params.not_after = date_time_ymd(1970, 1, 1) + seconds_from_now(self.days.end);
        params.extended_key_usages = self.usage.clone();
        params.key_usages = self.key_usage.clone();
        if self.constrained {
            // Not critical, unlike rcgen's own: nothing but the extension itself then tells.
            let subtree = element(0x30, &element(0x82, b"example.com"));
            let content = element(0x30, &element(0xa0, &subtree));
            params.custom_extensions.push(CustomExtension::from_oid_content(&[2, 5, 29, 30], content));
        }
        if self.strange {
            let mut extension = CustomExtension::from_oid_content(&[2, 5, 29, 9999], vec![5, 0]);
            extension.set_criticality(true);
            params.custom_extensions.push(extension);
        }
        params
    }
}

fn seconds_from_now(days: i64) -> Duration {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    Duration::from_secs(now.checked_add_signed(days * 24 * 3600).unwrap())
}

impl Pair {
    pub fn self_signed(spec: &Spec) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = spec.params();
        let der = params.self_signed(&key).unwrap().der().to_vec();
        Self { der, key, subject: params.distinguished_name }
    }

    pub fn self_signed_rsa(spec: &Spec) -> Self {
        let key = KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap();
        let params = spec.params();
        let der = params.self_signed(&key).unwrap().der().to_vec();
        Self { der, key, subject: params.distinguished_name }
    }

    pub fn issue(&self, spec: &Spec) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = spec.params();
        let mut issuer_params = CertificateParams::default();
        issuer_params.distinguished_name = self.subject.clone();
        let issuer = Issuer::from_params(&issuer_params, &self.key);
        let der = params.signed_by(&key, &issuer).unwrap().der().to_vec();
        Self { der, key, subject: params.distinguished_name }
    }

    /// The same certificate as X.509 v1, signed anew by `issuer`: what `openssl x509 -req` makes without an extension
    /// file. The version field and the extensions are cut out of what is signed.
    pub fn into_v1(self, issuer: Option<&Pair>) -> Self {
        let signer = issuer.map_or(&self.key, |issuer| &issuer.key);
        let members = children(children(&self.der)[0]);
        let kept: Vec<u8> = members
            .iter()
            .filter(|member| !matches!(member[0], 0xa0 | 0xa3))
            .flat_map(|member| member.iter().copied())
            .collect();
        let tbs = element(0x30, &kept);
        let mut signature = vec![0];
        signature.extend(signer.sign(&tbs).unwrap());
        let algorithm = children(&self.der)[1];
        let der = element(0x30, &[&tbs, algorithm, &element(0x03, &signature)].concat());
        assert_eq!(X509Certificate::from_der(&der).unwrap().1.version().0, 0);
        Self { der, ..self }
    }

    pub fn key_der(&self) -> Vec<u8> {
        self.key.serialize_der()
    }
}

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes certificates into one PEM file.
    pub fn certs(&self, name: &str, pairs: &[&Pair]) -> PathBuf {
        let text: String = pairs.iter().map(|pair| pem("CERTIFICATE", &pair.der)).collect();
        self.write(name, text)
    }

    pub fn key(&self, name: &str, pair: &Pair) -> PathBuf {
        self.write(name, pem("PRIVATE KEY", &pair.key_der()))
    }
}

pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in der.chunks(48) {
        for group in line.chunks(3) {
            let mut padded = [0_u8; 4];
            padded[1..=group.len()].copy_from_slice(group);
            let bits = u32::from_be_bytes(padded);
            for digit in 0..4 {
                let value = (bits >> (18 - 6 * digit)) & 63;
                text.push(if digit > group.len() { '=' } else { DIGITS[value as usize] as char });
            }
        }
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}

/// A DER element of any length.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    match content.len() {
        length @ 0..=127 => out.push(length as u8),
        length @ 128..=255 => out.extend([0x81, length as u8]),
        length => out.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    out.extend_from_slice(content);
    out
}

/// The members of a DER SEQUENCE, tag and length included.
pub(crate) fn children(der: &[u8]) -> Vec<&[u8]> {
    let mut rest = &der[header_len(der)..];
    let mut members = Vec::new();
    while !rest.is_empty() {
        let (member, after) = rest.split_at(header_len(rest) + content_len(rest));
        members.push(member);
        rest = after;
    }
    members
}

fn header_len(der: &[u8]) -> usize {
    if der[1] < 0x80 { 2 } else { 2 + usize::from(der[1] & 0x7f) }
}

fn content_len(der: &[u8]) -> usize {
    match der[1] {
        short @ 0..=0x7f => usize::from(short),
        long => {
            der[2..2 + usize::from(long & 0x7f)].iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte))
        }
    }
}
