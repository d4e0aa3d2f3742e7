use std::fmt;

use zeroize::Zeroizing;

/// A password. Its memory is overwritten when it is dropped, and `Debug` prints `***`; there is no `Display`.
///
/// Equality is not constant in time: it tells one configuration from another and must not be used on anything
/// that a client sent.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretString(Zeroizing<String>);

impl SecretString {
    pub fn new(secret: impl Into<String>) -> Self {
        Self(Zeroizing::new(secret.into()))
    }

    /// The secret itself. The name is meant to stand out in a review.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
