use std::fmt;

/// Identifies the digest of a statement: rapidhash (version 3 of the function) of the digest's text. The same text
/// has the same id in every process and on every machine. It finds a digest; two texts may share one by chance, so
/// where that matters the texts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DigestId(pub u64);

/// 16 hexadecimal digits.
impl fmt::Display for DigestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
