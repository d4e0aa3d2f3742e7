//! Weir plays the server towards a client: login and COM_CHANGE_USER.
//!
//! ```text
//!   start --- a scramble matches -------------------------------------> Proven (native)
//!     |                                  \--> FastAccepted --resume---> Proven (caching_sha2)
//!     |--- caching_sha2, no match --> AwaitFull --- password --------> Proven | Refused
//!     |                                 |  `-- 0x02 --> AwaitCiphertext --> Proven | Refused
//!     |--- any other plugin --------> AwaitSwitchSha2 --- as caching_sha2 above
//!     `--- clear without its data --> AwaitSwitchClear --- password --> Proven | Refused
//! ```
//!
//! What is sent, and how often, depends on the client and on the link, never on whether the user exists: a wrong
//! password of a known user and an unknown user take the same path, the checks of the missing verifiers included.
//! The final refusal is the caller's to send, after the delay that `limits.auth_failure_delay` sets.

use std::sync::Arc;

use weir_model::AuthFailure;

use crate::plugin::{
    FAST_AUTH_SUCCESS, FULL_AUTHENTICATION, Plugin, REQUEST_PUBLIC_KEY, auth_more_data, auth_switch_request,
};
use crate::rsa::{RsaKeyPair, password_before_nul};
use crate::secret::{Secret, Verifier};
use crate::{MAX_PASSWORD_LEN, NONCE_LEN};

/// Verifiers checked for each proof, at least; where a user has fewer, dummies fill up. Two, because a listed user
/// has a password and, during a rotation, a previous one.
const CHECKS: usize = 2;

/// What is known when a client names itself.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// The plugin that the greeting named. For COM_CHANGE_USER it is not looked at.
    pub greeting_plugin: Plugin,
    /// The client's link is TLS or a Unix socket, so a password may cross it in clear.
    pub secure: bool,
    /// This is a COM_CHANGE_USER. Clients of `caching_sha2_password` then send an empty response and wait to be
    /// asked, as MySQL always does, so an empty response proves nothing and a mismatch is answered by a switch.
    pub change_user: bool,
    /// The client negotiated CLIENT_PLUGIN_AUTH, without which it does not understand AuthSwitchRequest.
    pub plugin_auth: bool,
    /// The nonce in force: that of the greeting, or [`ClientExchange::last_nonce`] of the exchange before.
    pub greeting_nonce: [u8; NONCE_LEN],
    /// For an AuthSwitchRequest. Random bytes from 1 to 127, as the servers send: a client may cut at a NUL.
    pub fresh_nonce: [u8; NONCE_LEN],
    /// Current and previous password of a listed user, or the remembered one of a pass-through user; empty for
    /// an unknown user.
    pub known: Vec<Arc<Verifier>>,
    /// The user stands in the configuration. Only decides the reason of a refusal.
    pub listed: bool,
    /// `auth.passthrough`: a password that matches nothing here is handed out for the server to judge.
    pub passthrough: bool,
    /// Weir's key for clients without TLS.
    pub rsa: Arc<RsaKeyPair>,
}

/// What the caller does next.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// Send this payload, then as `then` says.
    Send { payload: Vec<u8>, then: Then },
    /// The exchange with the client is over, short of the OK or ERR that the caller sends.
    Proven(Proof),
    /// Answer with error 1045 (or 1251 for [`AuthFailure::UnsupportedPlugin`]) and close.
    Refused(AuthFailure),
}

/// What follows a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Read the client's next payload and give it to [`ClientExchange::handle_reply`].
    Await,
    /// The client does not answer this one: call [`ClientExchange::resume`] at once.
    Continue,
}

/// What the client proved.
#[derive(Debug, PartialEq, Eq)]
pub enum Proof {
    /// It knows the password of the verifier at this index of [`ClientConfig::known`].
    Known { index: usize },
    /// It gave this password, which matches no verifier: the caller tries it at the server. Only with
    /// [`ClientConfig::passthrough`].
    Password(Secret),
}

/// One login or COM_CHANGE_USER of one client.
#[derive(Debug)]
pub struct ClientExchange {
    config: ClientConfig,
    nonce: [u8; NONCE_LEN],
    state: State,
}

/// What the client was last told, and so what its next payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// AuthSwitchRequest to `caching_sha2_password`: a scramble comes.
    AwaitSwitchSha2,
    /// AuthSwitchRequest to `mysql_clear_password`: the password comes.
    AwaitSwitchClear,
    /// AuthMoreData 4: the password comes, or the request for the public key, or a ciphertext under a key that
    /// the client already has.
    AwaitFull,
    /// AuthMoreData with the public key: a ciphertext comes.
    AwaitCiphertext,
    /// AuthMoreData 3: nothing comes, the proof is complete.
    FastAccepted { index: usize },
    /// Proven or refused.
    Done,
}

impl ClientExchange {
    /// Judges the plugin and response of a handshake response or COM_CHANGE_USER. `client_plugin` is the name
    /// without its NUL, `None` if the packet carries none; `auth_response` is without its length.
    pub fn start(config: ClientConfig, client_plugin: Option<&[u8]>, auth_response: &[u8]) -> (Self, Step) {
        let nonce = config.greeting_nonce;
        let mut exchange = Self { config, nonce, state: State::Done };
        // Who names no plugin means the one that was there before plugins had names.
        let plugin = client_plugin.map_or(Plugin::Native, Plugin::from_name);
        let step = match plugin {
            Plugin::Native => exchange.start_native(auth_response),
            Plugin::CachingSha2 => exchange.start_sha2(auth_response),
            Plugin::Clear if exchange.config.secure => exchange.start_clear(auth_response),
            Plugin::Clear | Plugin::Sha256 | Plugin::Ed25519 | Plugin::Other(_) => exchange.switch_to_sha2(),
        };
        (exchange, step)
    }

    /// The client's answer to a payload that was sent with [`Then::Await`]. Any other call is refused as malformed.
    pub fn handle_reply(&mut self, payload: &[u8]) -> Step {
        match std::mem::replace(&mut self.state, State::Done) {
            State::AwaitSwitchSha2 => self.scramble_after_switch(payload),
            State::AwaitSwitchClear => self.clear_password(payload),
            State::AwaitFull => self.full_authentication(payload),
            State::AwaitCiphertext => self.ciphertext(payload),
            State::FastAccepted { .. } | State::Done => Step::Refused(AuthFailure::Malformed),
        }
    }

    /// Whether [`ClientExchange::handle_reply`] would use the RSA private key for this payload. That takes 0.5 to 3 ms,
    /// as much as some hundred statements, and any stranger can ask for it: the caller keeps it off the threads that
    /// serve sessions.
    pub fn is_costly(&self, payload: &[u8]) -> bool {
        let fits = payload.len() == self.config.rsa.ciphertext_len();
        match self.state {
            State::AwaitCiphertext => fits,
            State::AwaitFull => fits && !self.config.secure,
            _ => false,
        }
    }

    /// Goes on after a payload that was sent with [`Then::Continue`]. Any other call is refused as malformed.
    pub fn resume(&mut self) -> Step {
        match std::mem::replace(&mut self.state, State::Done) {
            State::FastAccepted { index } => Step::Proven(Proof::Known { index }),
            _ => Step::Refused(AuthFailure::Malformed),
        }
    }

    /// The nonce now in force; a later COM_CHANGE_USER on this connection may be scrambled with it.
    pub fn last_nonce(&self) -> [u8; NONCE_LEN] {
        self.nonce
    }

    fn start_native(&mut self, token: &[u8]) -> Step {
        if token.is_empty() && self.means_empty_password(&Plugin::Native) {
            return self.judge(Secret::default());
        }
        let nonce = self.nonce;
        // An empty token must not reach the verifiers: here it says "ask me", not "my password is empty".
        let found = self.find(|verifier| !token.is_empty() && verifier.verify_native(&nonce, token));
        match found {
            Some(index) => Step::Proven(Proof::Known { index }),
            None => self.switch_to_sha2(),
        }
    }

    fn start_sha2(&mut self, response: &[u8]) -> Step {
        match Scramble::read(response) {
            Scramble::Empty if self.means_empty_password(&Plugin::CachingSha2) => {
                self.judge(Secret::default())
            }
            Scramble::Zero if !self.config.change_user => self.judge(Secret::default()),
            Scramble::Empty | Scramble::Zero => self.switch_to_sha2(),
            Scramble::Token(token) => match self.find_sha2(token) {
                Some(index) => self.accept_fast(index),
                None if self.config.change_user => self.switch_to_sha2(),
                None => self.ask_for_password(),
            },
            Scramble::Malformed => Step::Refused(AuthFailure::Malformed),
        }
    }

    fn start_clear(&mut self, response: &[u8]) -> Step {
        if response.is_empty() {
            self.state = State::AwaitSwitchClear;
            return Step::Send { payload: auth_switch_request(&Plugin::Clear, None), then: Then::Await };
        }
        self.clear_password(response)
    }

    /// A client whose default plugin is not the greeting's sends an empty response and waits for a switch, so an
    /// empty one is a proof only where the client did answer the greeting.
    fn means_empty_password(&self, plugin: &Plugin) -> bool {
        !self.config.change_user && (self.config.greeting_plugin == *plugin || !self.config.plugin_auth)
    }

    fn switch_to_sha2(&mut self) -> Step {
        if !self.config.plugin_auth {
            return self.refuse_old_client();
        }
        self.nonce = self.config.fresh_nonce;
        self.state = State::AwaitSwitchSha2;
        let payload = auth_switch_request(&Plugin::CachingSha2, Some(&self.nonce));
        Step::Send { payload, then: Then::Await }
    }

    /// With pass-through its password may well be right, but only the full exchange, which it cannot do, would tell.
    fn refuse_old_client(&self) -> Step {
        if self.config.passthrough {
            return Step::Refused(AuthFailure::UnsupportedPlugin);
        }
        self.refuse()
    }

    fn scramble_after_switch(&mut self, payload: &[u8]) -> Step {
        match Scramble::read(payload) {
            Scramble::Empty | Scramble::Zero => self.judge(Secret::default()),
            Scramble::Token(token) => match self.find_sha2(token) {
                Some(index) => self.accept_fast(index),
                None => self.ask_for_password(),
            },
            Scramble::Malformed => Step::Refused(AuthFailure::Malformed),
        }
    }

    fn accept_fast(&mut self, index: usize) -> Step {
        self.state = State::FastAccepted { index };
        Step::Send { payload: auth_more_data(&[FAST_AUTH_SUCCESS]), then: Then::Continue }
    }

    fn ask_for_password(&mut self) -> Step {
        self.state = State::AwaitFull;
        Step::Send { payload: auth_more_data(&[FULL_AUTHENTICATION]), then: Then::Await }
    }

    fn full_authentication(&mut self, payload: &[u8]) -> Step {
        // A password is never one byte (its NUL makes two), so this also serves a client that wants RSA over a
        // link that we hold to be secure and it does not: a Unix socket.
        if payload == [REQUEST_PUBLIC_KEY] {
            self.state = State::AwaitCiphertext;
            let payload = auth_more_data(self.config.rsa.public_key_pem());
            return Step::Send { payload, then: Then::Await };
        }
        if self.config.secure {
            return self.given(password_before_nul(payload));
        }
        // Without the request: the client has had the key before, or in a file.
        if payload.len() == self.config.rsa.ciphertext_len() {
            return self.ciphertext(payload);
        }
        Step::Refused(match payload.last() {
            Some(0) => AuthFailure::InsecureLink,
            _ => AuthFailure::Malformed,
        })
    }

    fn ciphertext(&mut self, payload: &[u8]) -> Step {
        let password = self.config.rsa.decrypt_password(payload, &self.nonce).ok();
        self.given(password)
    }

    /// `mysql_clear_password`: the NUL is there in every client of the servers' own, but not in every driver.
    fn clear_password(&self, payload: &[u8]) -> Step {
        let password = payload.strip_suffix(&[0]).unwrap_or(payload);
        let fits = password.len() <= MAX_PASSWORD_LEN && !password.contains(&0);
        self.given(fits.then(|| Secret::new(password.to_vec())))
    }

    fn given(&self, password: Option<Secret>) -> Step {
        password.map_or(Step::Refused(AuthFailure::Malformed), |password| self.judge(password))
    }

    fn judge(&self, password: Secret) -> Step {
        match self.find(|verifier| verifier.verify_password(&password)) {
            Some(index) => Step::Proven(Proof::Known { index }),
            None if self.config.passthrough => Step::Proven(Proof::Password(password)),
            None => self.refuse(),
        }
    }

    fn refuse(&self) -> Step {
        Step::Refused(if self.config.listed { AuthFailure::WrongPassword } else { AuthFailure::UnknownUser })
    }

    fn find_sha2(&self, token: &[u8]) -> Option<usize> {
        self.find(|verifier| verifier.verify_caching_sha2(&self.nonce, token))
    }

    /// Checks every verifier, also after one has matched, and dummies up to [`CHECKS`].
    fn find(&self, matches: impl Fn(&Verifier) -> bool) -> Option<usize> {
        let mut found = None;
        for (index, verifier) in self.config.known.iter().enumerate() {
            if matches(verifier) && found.is_none() {
                found = Some(index);
            }
        }
        let dummy = Verifier::dummy();
        for _ in self.config.known.len()..CHECKS {
            std::hint::black_box(matches(std::hint::black_box(&dummy)));
        }
        found
    }
}

/// The response of a `caching_sha2_password` client.
enum Scramble<'a> {
    /// Nothing at all: the empty password, or nothing yet.
    Empty,
    /// One zero byte: the empty password, as the servers' own clients say it.
    Zero,
    Token(&'a [u8]),
    Malformed,
}

impl<'a> Scramble<'a> {
    fn read(response: &'a [u8]) -> Self {
        match response {
            [] => Self::Empty,
            [0] => Self::Zero,
            token if token.len() == 32 => Self::Token(token),
            _ => Self::Malformed,
        }
    }
}

#[cfg(test)]
mod tests;
