//! Does a certificate name this host? The rules are those of MySQL's client, which asks OpenSSL (`X509_check_host`).

use rustls::client::verify_server_name;
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error};
use rustls_pki_types::{CertificateDer, ServerName};
use x509_parser::prelude::{GeneralName, X509Certificate};

use crate::cert_chain::parse;

/// Alternative names decide where there are any DNS names among them. Without one, the common name is compared, as
/// certificates made by hand for MySQL have nothing else. An IP address must stand among the alternative names: MySQL
/// 9.7's client refuses one that is only the common name, and so does Weir.
pub(crate) fn verify(certificate: &CertificateDer<'_>, host: &ServerName<'_>) -> Result<(), Error> {
    let by_alternative_name =
        ParsedCertificate::try_from(certificate).and_then(|parsed| verify_server_name(&parsed, host));
    if by_alternative_name.is_ok() {
        return Ok(());
    }
    let parsed = parse(certificate)?;
    match host {
        ServerName::DnsName(name)
            if !has_dns_name(&parsed) && common_name_matches(&parsed, name.as_ref()) =>
        {
            Ok(())
        }
        _ => Err(Error::InvalidCertificate(CertificateError::NotValidForName)),
    }
}

fn has_dns_name(certificate: &X509Certificate<'_>) -> bool {
    match certificate.subject_alternative_name() {
        Ok(Some(names)) => {
            names.value.general_names.iter().any(|name| matches!(name, GeneralName::DNSName(_)))
        }
        Ok(None) => false,
        // An extension that cannot be read may well hold a DNS name: the common name is then no way around it.
        Err(_) => true,
    }
}

fn common_name_matches(certificate: &X509Certificate<'_>, host: &str) -> bool {
    certificate
        .subject()
        .iter_common_name()
        .filter_map(|name| name.as_str().ok())
        .any(|pattern| pattern_matches(pattern, host))
}

/// A name equals itself regardless of case; `*.example.com` stands for exactly one label in front (RFC 6125, 6.4.3).
fn pattern_matches(pattern: &str, host: &str) -> bool {
    if pattern.eq_ignore_ascii_case(host) {
        return true;
    }
    match (pattern.strip_prefix("*."), host.split_once('.')) {
        (Some(domain), Some((label, rest))) => {
            !label.is_empty() && domain.contains('.') && domain.eq_ignore_ascii_case(rest)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
