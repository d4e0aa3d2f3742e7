//! A client just large enough to measure with: logs in with `mysql_native_password`, or with `caching_sha2_password` where the server
//! remembers the account, sends text queries, and reads the
//! answers without decoding rows. It is apart from Weir's own protocol code on purpose, so that a mistake there cannot
//! hide in its own measurement.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use aws_lc_rs::digest;

/// Who logs in, and to which schema.
#[derive(Clone, Copy, Debug)]
pub struct Login {
    /// The account's name.
    pub user: &'static str,
    /// Its password.
    pub password: &'static str,
    /// The schema to start in.
    pub schema: &'static str,
}

/// `CLIENT_LONG_PASSWORD`, `_CONNECT_WITH_DB`, `_PROTOCOL_41`, `_TRANSACTIONS`, `_SECURE_CONNECTION`, `_PLUGIN_AUTH`;
/// without `_DEPRECATE_EOF`, so that every result set ends alike.
const CAPABILITIES: u32 = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;
const UTF8MB4: u8 = 45;
const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";
/// No answer of any experiment takes longer; a peer that is silent for so long has lost it.
const SILENCE: Duration = Duration::from_secs(30);

/// One connection that has logged in.
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// What of `buffer` is received and not yet consumed.
    pending: std::ops::Range<usize>,
    received: u64,
}

impl Client {
    /// Connects and logs in. `room` is the size of the receive buffer in bytes.
    ///
    /// # Errors
    /// When the connection breaks or the login is refused, with the server's text.
    pub fn connect(address: SocketAddr, login: Login, room: usize) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        let mut client = Self { stream, buffer: vec![0; room.max(1024)], pending: 0..0, received: 0 };
        let packet = self::login(login, client.packet()?)?;
        client.send(1, &packet)?;
        client.finish_login(login).with_context(|| format!("login as {} at {address}", login.user))?;
        Ok(client)
    }

    fn finish_login(&mut self, login: Login) -> Result<()> {
        loop {
            match judge_login(login, self.packet()?)? {
                Verdict::In => return Ok(()),
                Verdict::Prove(proof) => self.send(3, &proof)?,
                Verdict::Wait => {}
            }
        }
    }

    /// Runs one statement and reads its whole answer; returns the number of rows.
    ///
    /// # Errors
    /// When the connection breaks or the server answers with an error, with its text.
    pub fn query(&mut self, sql: &str) -> Result<u64> {
        self.ask(sql)?;
        self.answer(|_| {})
    }

    /// Runs a statement that answers with one row of short texts, and returns the one in this column, counted from 0.
    ///
    /// # Errors
    /// As [`Client::query`], and when there is no such value.
    pub fn value(&mut self, sql: &str, column: usize) -> Result<String> {
        self.ask(sql)?;
        let first = self.packet()?;
        ensure!(!matches!(first.first(), None | Some(0 | 0xFF)), "{}", error_text(first));
        while !is_eof(self.packet()?) {}
        let mut row = self.packet()?;
        let mut value = None;
        for _ in 0..=column {
            let (size, rest) = row.split_first().context("the row has fewer columns")?;
            let (text, rest) = rest.split_at_checked(usize::from(*size)).context("not a short text")?;
            (value, row) = (Some(String::from_utf8_lossy(text).into_owned()), rest);
        }
        while !is_eof(self.packet()?) {}
        value.context("the row has no columns")
    }

    /// Prepares a statement with one parameter and result columns; returns its id.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub fn prepare(&mut self, sql: &str) -> Result<u32> {
        let mut packet = vec![0x16];
        packet.extend_from_slice(sql.as_bytes());
        self.send(0, &packet)?;
        let answer = self.packet()?;
        ensure!(answer.first() == Some(&0), "{}", error_text(answer));
        let id = answer.get(1..5).context("the answer is too short")?;
        let id = u32::from_le_bytes([id[0], id[1], id[2], id[3]]);
        // Of the parameter and of the columns.
        for _ in 0..2 {
            while !is_eof(self.packet()?) {}
        }
        Ok(id)
    }

    /// Executes a statement with this number as its parameter; returns the number of rows.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub fn execute(&mut self, id: u32, number: u32) -> Result<u64> {
        let mut packet = vec![0x17];
        packet.extend_from_slice(&id.to_le_bytes());
        // No cursor, once; no NULL; the type is MYSQL_TYPE_LONG.
        packet.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1, 3, 0]);
        packet.extend_from_slice(&number.to_le_bytes());
        self.send(0, &packet)?;
        self.answer(|_| {})
    }

    /// Chooses the schema by COM_INIT_DB.
    ///
    /// # Errors
    /// As [`Client::query`].
    pub fn init_db(&mut self, schema: &str) -> Result<()> {
        let mut packet = vec![2];
        packet.extend_from_slice(schema.as_bytes());
        self.send(0, &packet)?;
        let answer = self.packet()?;
        ensure!(answer.first() == Some(&0), "{}", error_text(answer));
        Ok(())
    }

    /// Sends one statement without reading the answer.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn ask(&mut self, sql: &str) -> Result<()> {
        let mut packet = Vec::with_capacity(sql.len() + 1);
        packet.push(3);
        packet.extend_from_slice(sql.as_bytes());
        self.send(0, &packet)
    }

    /// Reads the answer to a statement, calling `row` with the size of each row's packet in bytes.
    ///
    /// # Errors
    /// When the connection breaks or the server answers with an error, with its text.
    pub fn answer(&mut self, mut row: impl FnMut(usize)) -> Result<u64> {
        let first = self.packet()?;
        match first.first() {
            Some(0) => return Ok(0),
            None | Some(0xFF) => bail!("{}", error_text(first)),
            Some(_) => {}
        }
        while !is_eof(self.packet()?) {}
        let mut rows = 0;
        loop {
            let packet = self.packet()?;
            if is_eof(packet) {
                return Ok(rows);
            }
            ensure!(packet.first() != Some(&0xFF), "{}", error_text(packet));
            rows += 1;
            row(packet.len());
        }
    }

    /// Bytes of all packets that were received and read so far, with their headers.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Says COM_QUIT and closes at once, as client libraries do.
    ///
    /// # Errors
    /// When the connection broke before.
    pub fn quit(mut self) -> Result<()> {
        self.send(0, &[1])
    }

    /// Gives the bare socket, so that an idle connection keeps no buffer here. Nothing may be under way.
    #[must_use]
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    fn send(&mut self, sequence: u8, payload: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(&framed(sequence, payload)?)?)
    }

    /// The payload of the next packet.
    fn packet(&mut self) -> Result<&[u8]> {
        self.need(4)?;
        let at = self.pending.start;
        let head = [self.buffer[at], self.buffer[at + 1], self.buffer[at + 2], 0];
        let size = usize::try_from(u32::from_le_bytes(head))?;
        self.need(4 + size)?;
        let payload = self.pending.start + 4;
        self.pending.start = payload + size;
        self.received += 4 + size as u64;
        Ok(&self.buffer[payload..payload + size])
    }

    /// Reads until `size` bytes are pending.
    fn need(&mut self, size: usize) -> Result<()> {
        if self.pending.len() >= size {
            return Ok(());
        }
        self.buffer.copy_within(self.pending.clone(), 0);
        self.pending = 0..self.pending.len();
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        while self.pending.len() < size {
            let got = self.stream.read(&mut self.buffer[self.pending.end..])?;
            ensure!(got > 0, "the peer closed the connection");
            self.pending.end += got;
        }
        Ok(())
    }
}

/// What a packet of the server means to who logs in.
pub(crate) enum Verdict {
    In,
    /// This proves it in another way.
    Prove(Vec<u8>),
    /// More follows.
    Wait,
}

/// What to answer to the greeting, as client libraries do: with the plugin that the server names, if it is known.
pub(crate) fn login(login: Login, greeting: &[u8]) -> Result<Vec<u8>> {
    let plugin = if greeting.windows(SHA2.len()).any(|at| at == SHA2.as_bytes()) { SHA2 } else { NATIVE };
    Ok(login_packet(login, plugin, &scramble_of(greeting)?))
}

/// Reads what the server says to a login.
pub(crate) fn judge_login(login: Login, packet: &[u8]) -> Result<Verdict> {
    match packet.first() {
        Some(0) => Ok(Verdict::In),
        Some(0xFE) => {
            let mut fields = packet.get(1..).unwrap_or_default().split(|byte| *byte == 0);
            let plugin = fields.next().unwrap_or_default();
            let known = [NATIVE, SHA2].into_iter().find(|known| plugin == known.as_bytes());
            let known = known.with_context(|| format!("asked for {}", String::from_utf8_lossy(plugin)))?;
            let start = 2 + known.len();
            let scramble = packet.get(start..start + 20).context("auth switch without a scramble")?;
            Ok(Verdict::Prove(proof(known, login.password, scramble)))
        }
        // The server remembers the account: OK follows.
        Some(1) if packet == [1, 3] => Ok(Verdict::Wait),
        Some(1) => bail!("the server has forgotten the account, and wants the password itself"),
        _ => bail!("{}", error_text(packet)),
    }
}

/// A packet with its header.
pub(crate) fn framed(sequence: u8, payload: &[u8]) -> Result<Vec<u8>> {
    ensure!(payload.len() < 0xFF_FFFF, "this client does not split packets");
    let size = u32::try_from(payload.len())?.to_le_bytes();
    let mut packet = Vec::with_capacity(4 + payload.len());
    packet.extend_from_slice(&[size[0], size[1], size[2], sequence]);
    packet.extend_from_slice(payload);
    Ok(packet)
}

pub(crate) fn is_eof(packet: &[u8]) -> bool {
    packet.len() < 9 && packet.first() == Some(&0xFE)
}

/// `Protocol::HandshakeV10` of the MySQL manual: the two parts of the scramble.
fn scramble_of(greeting: &[u8]) -> Result<[u8; 20]> {
    ensure!(greeting.first() == Some(&10), "{}", error_text(greeting));
    let version = greeting.iter().position(|byte| *byte == 0).context("greeting without a version")?;
    let first = version + 5;
    let second = first + 8 + 1 + 2 + 1 + 2 + 2 + 1 + 10;
    let mut scramble = [0; 20];
    scramble[..8].copy_from_slice(greeting.get(first..first + 8).context("greeting is too short")?);
    scramble[8..].copy_from_slice(greeting.get(second..second + 12).context("greeting is too short")?);
    Ok(scramble)
}

/// `Protocol::HandshakeResponse41`.
fn login_packet(login: Login, plugin: &str, scramble: &[u8]) -> Vec<u8> {
    let proof = proof(plugin, login.password, scramble);
    let mut packet = Vec::with_capacity(128);
    packet.extend_from_slice(&CAPABILITIES.to_le_bytes());
    packet.extend_from_slice(&0x100_0000_u32.to_le_bytes());
    packet.push(UTF8MB4);
    packet.extend_from_slice(&[0; 23]);
    packet.extend_from_slice(login.user.as_bytes());
    // 20 or 32 bytes.
    packet.extend_from_slice(&[0, proof.len() as u8]);
    packet.extend_from_slice(&proof);
    packet.extend_from_slice(login.schema.as_bytes());
    packet.push(0);
    packet.extend_from_slice(plugin.as_bytes());
    packet.push(0);
    packet
}

/// Of `mysql_native_password` SHA1(password) XOR SHA1(scramble + SHA1(SHA1(password))), and of `caching_sha2_password`
/// SHA256(password) XOR SHA256(SHA256(SHA256(password)) + scramble), as the manual defines them.
fn proof(plugin: &str, password: &str, scramble: &[u8]) -> Vec<u8> {
    let is_sha2 = plugin == SHA2;
    let algorithm = if is_sha2 { &digest::SHA256 } else { &digest::SHA1_FOR_LEGACY_USE_ONLY };
    let hash = |bytes: &[u8]| digest::digest(algorithm, bytes);
    let once = hash(password.as_bytes());
    let twice = hash(once.as_ref());
    let salted =
        if is_sha2 { [twice.as_ref(), scramble].concat() } else { [scramble, twice.as_ref()].concat() };
    let mask = hash(&salted);
    once.as_ref().iter().zip(mask.as_ref()).map(|(a, b)| a ^ b).collect()
}

pub(crate) fn error_text(packet: &[u8]) -> String {
    match packet {
        [0xFF, low, high, text @ ..] => {
            format!("error {}: {}", u16::from_le_bytes([*low, *high]), String::from_utf8_lossy(text))
        }
        other => format!("an answer that is not understood: {:02x?}", other.get(..16).unwrap_or(other)),
    }
}
