//! Reading the reply that a command has.

use anyhow::{Context, Result};

use super::bytes::Fields;
use super::caps::{Capabilities, status};
use super::packet::Packet;
use super::response::{Column, End, ErrPacket, OkPacket, Outcome, Prepared, Response, ResultSet};
use super::{Client, command};

/// An ERR packet with this code is a progress report of MariaDB, and its sequence number counts for nothing.
const PROGRESS_CODE: &[u8] = &[0xff, 0xff, 0xff];

impl Client {
    /// Reads the reply to a command that was sent.
    ///
    /// # Errors
    /// When the connection fails inside a packet or a packet is malformed. A connection closed between packets
    /// is reported as `closed`.
    pub async fn receive(&mut self, code: u8) -> Result<Response> {
        let mut reply = Reply { client: self, response: Response::default() };
        let end = match code {
            command::QUIT | command::STMT_CLOSE | command::STMT_SEND_LONG_DATA => Ok(()),
            command::STMT_PREPARE => reply.prepared().await,
            command::FIELD_LIST => reply.field_list().await,
            command::STMT_FETCH => reply.fetched().await,
            command::STATISTICS => reply.statistics().await,
            _ => reply.results().await,
        };
        let mut response = reply.response;
        match end {
            Ok(()) => Ok(response),
            Err(error) if error.is::<Closed>() => {
                response.closed = true;
                Ok(response)
            }
            Err(error) => {
                let last = response.packets.last();
                Err(error.context(format!("after {} packets, the last {last:?}", response.packets.len())))
            }
        }
    }
}

/// The connection ended between two packets.
#[derive(Debug)]
struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection was closed")
    }
}

impl std::error::Error for Closed {}

struct Reply<'a> {
    client: &'a mut Client,
    response: Response,
}

impl Reply<'_> {
    /// The next packet's place in `packets`, and progress reports noted on the way.
    async fn next(&mut self) -> Result<usize> {
        loop {
            let packet = self.client.stream.read_packet().await?.ok_or(Closed)?;
            let progress = packet.payload.starts_with(PROGRESS_CODE);
            if progress {
                self.response.outcomes.push(Outcome::Progress(packet.payload.clone()));
            }
            self.response.packets.push(packet);
            if !progress {
                return Ok(self.response.packets.len() - 1);
            }
        }
    }

    async fn next_payload(&mut self) -> Result<&[u8]> {
        let at = self.next().await?;
        Ok(&self.response.packets[at].payload)
    }

    /// OK, ERR, result sets, requests for a file: whatever COM_QUERY and its like answer.
    async fn results(&mut self) -> Result<()> {
        loop {
            let at = self.next().await?;
            let payload = &self.response.packets[at].payload;
            let more = match payload.first().context("an empty packet")? {
                0x00 => self.ok(at)?,
                0xff => self.error(at)?,
                0xfb => self.local_file(at).await?,
                0xfe if self.deprecates_eof() => self.ok(at)?,
                0xfe if payload.len() < 9 => self.lone_eof(at)?,
                _ => self.result_set(at).await?,
            };
            if !more {
                return Ok(());
            }
        }
    }

    fn ok(&mut self, at: usize) -> Result<bool> {
        let ok = OkPacket::parse(&self.response.packets[at].payload, self.client.capabilities)?;
        let more = ok.status & status::MORE_RESULTS != 0;
        self.response.outcomes.push(Outcome::Ok(ok));
        Ok(more)
    }

    fn error(&mut self, at: usize) -> Result<bool> {
        let err = ErrPacket::parse(&self.response.packets[at].payload)?;
        self.response.outcomes.push(Outcome::Err(err));
        Ok(false)
    }

    /// COM_SET_OPTION and COM_DEBUG answer with an EOF packet, or an OK packet in its place.
    fn lone_eof(&mut self, at: usize) -> Result<bool> {
        let mut ok = OkPacket::default();
        let mut fields = Fields(&self.response.packets[at].payload[1..]);
        if !fields.is_empty() {
            (ok.warnings, ok.status) = (fields.u16()?, fields.u16()?);
        }
        self.response.outcomes.push(Outcome::Ok(ok));
        Ok(false)
    }

    async fn local_file(&mut self, at: usize) -> Result<bool> {
        let packet: &Packet = &self.response.packets[at];
        let name = packet.payload[1..].to_vec();
        let mut seq = packet.seq.wrapping_add(1);
        self.response.outcomes.push(Outcome::LocalFile(name));
        let data = std::mem::take(&mut self.client.local_data);
        let chunks = data.chunks(self.client.local_chunk.max(1)).chain([&[][..]]);
        for chunk in chunks {
            self.client.stream.write_packet(seq, chunk).await?;
            seq = seq.wrapping_add(1);
        }
        self.client.local_data = data;
        Ok(true)
    }

    async fn result_set(&mut self, at: usize) -> Result<bool> {
        let capabilities = self.client.capabilities;
        let mut fields = Fields(&self.response.packets[at].payload);
        let count = fields.lenenc()?;
        let optional = Capabilities::OPTIONAL_RESULTSET_METADATA;
        let metadata =
            match capabilities.has(optional) || capabilities.has(Capabilities::MARIADB_CACHE_METADATA) {
                true => fields.u8()? != 0,
                false => true,
            };
        anyhow::ensure!(fields.is_empty(), "{} bytes after a column count", fields.0.len());
        let columns = if metadata { self.columns(count).await? } else { Vec::new() };
        let columns_end = match self.deprecates_eof() {
            true => None,
            false => Some(self.end_packet().await?),
        };
        let first = columns_end.as_ref().and_then(End::status).unwrap_or(0);
        let mut result = ResultSet { columns, metadata, columns_end, rows: Vec::new(), end: None };
        // A cursor's rows wait for COM_STMT_FETCH.
        let read = if first & status::CURSOR_EXISTS != 0 { Ok(()) } else { self.rows(&mut result).await };
        let last = result.end.as_ref().and_then(End::status).unwrap_or(0);
        // MySQL announces what follows the OUT parameters of a procedure in the first of the two EOF packets only.
        let out_params = first & status::PS_OUT_PARAMS != 0 && !matches!(result.end, Some(End::Err(_)));
        let more = last & status::MORE_RESULTS != 0 || out_params;
        self.response.outcomes.push(Outcome::Rows(result));
        read.map(|()| more)
    }

    async fn columns(&mut self, count: u64) -> Result<Vec<Column>> {
        let capabilities = self.client.capabilities;
        let mut columns = Vec::new();
        for _ in 0..count {
            let payload = self.next_payload().await?;
            columns.push(Column::parse(payload, capabilities).context("a column definition")?);
        }
        Ok(columns)
    }

    async fn rows(&mut self, result: &mut ResultSet) -> Result<()> {
        loop {
            let at = self.next().await?;
            if let Some(end) = self.as_end(at)? {
                result.end = Some(end);
                return Ok(());
            }
            result.rows.push(self.response.packets[at].payload.clone());
        }
    }

    async fn end_packet(&mut self) -> Result<End> {
        let at = self.next().await?;
        let packet = format!("{:?}", self.response.packets[at]);
        self.as_end(at)?.with_context(|| format!("the end of a list was due, {packet} came"))
    }

    /// The packet as the end of a list, if it is one. A row of 16 MiB and more can begin with 0xFE too.
    fn as_end(&self, at: usize) -> Result<Option<End>> {
        let payload = &self.response.packets[at].payload;
        Ok(match payload.first() {
            Some(0xff) => Some(End::Err(ErrPacket::parse(payload)?)),
            Some(0xfe) if self.deprecates_eof() && payload.len() < super::packet::MAX_PAYLOAD => {
                Some(End::Ok(OkPacket::parse(payload, self.client.capabilities)?))
            }
            Some(0xfe) if !self.deprecates_eof() && payload.len() < 9 => {
                let mut fields = Fields(&payload[1..]);
                Some(End::Eof { warnings: fields.u16()?, status: fields.u16()? })
            }
            _ => None,
        })
    }

    async fn prepared(&mut self) -> Result<()> {
        let at = self.next().await?;
        let payload = &self.response.packets[at].payload;
        if payload.first() == Some(&0xff) {
            return self.error(at).map(drop);
        }
        let mut fields = Fields(payload);
        fields.u8()?;
        let id = fields.u32()?;
        let (column_count, param_count) = (fields.u16()?, fields.u16()?);
        fields.u8()?;
        let warnings = if fields.is_empty() { 0 } else { fields.u16()? };
        let optional = self.client.capabilities.has(Capabilities::OPTIONAL_RESULTSET_METADATA);
        let metadata = !optional || fields.is_empty() || fields.u8()? != 0;
        let mut lists = [Vec::new(), Vec::new()];
        for (list, count) in lists.iter_mut().zip([param_count, column_count]) {
            if count > 0 && metadata {
                *list = self.columns(u64::from(count)).await?;
                if !self.deprecates_eof() {
                    self.end_packet().await?;
                }
            }
        }
        let [params, columns] = lists;
        let prepared = Prepared { id, params, columns, param_count, column_count, warnings };
        self.response.outcomes.push(Outcome::Prepared(prepared));
        Ok(())
    }

    async fn field_list(&mut self) -> Result<()> {
        let mut result =
            ResultSet { columns: Vec::new(), metadata: true, columns_end: None, rows: Vec::new(), end: None };
        loop {
            let at = self.next().await?;
            match self.as_end(at)? {
                Some(End::Err(_)) if result.columns.is_empty() => return self.error(at).map(drop),
                Some(end) => {
                    result.end = Some(end);
                    self.response.outcomes.push(Outcome::Rows(result));
                    return Ok(());
                }
                None => {
                    let payload = &self.response.packets[at].payload;
                    result.columns.push(Column::parse(payload, self.client.capabilities)?);
                }
            }
        }
    }

    async fn fetched(&mut self) -> Result<()> {
        let mut result = ResultSet {
            columns: Vec::new(),
            metadata: false,
            columns_end: None,
            rows: Vec::new(),
            end: None,
        };
        let read = self.rows(&mut result).await;
        self.response.outcomes.push(Outcome::Rows(result));
        read
    }

    async fn statistics(&mut self) -> Result<()> {
        let at = self.next().await?;
        let text = self.response.packets[at].payload.clone();
        self.response.outcomes.push(Outcome::Text(text));
        Ok(())
    }

    fn deprecates_eof(&self) -> bool {
        self.client.capabilities.has(Capabilities::DEPRECATE_EOF)
    }
}
