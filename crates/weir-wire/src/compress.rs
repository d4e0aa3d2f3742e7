//! The compressed protocol: frames of zlib or zstd around the stream of packets.
//!
//! A frame has a header of seven bytes: compressed length, sequence id, length before compression; the last is 0
//! where the frame holds its bytes as they are. Both directions share one counter of sequence ids, which a new
//! command sets to 0 ([`Codec::restart`]) and an answer goes on with ([`Codec::follow`]).

use crate::{MAX_PAYLOAD, Malformed};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::stream::raw::{self, Operation};

/// The header of a frame.
const FRAME_HEADER: usize = 7;

/// Below this a frame is sent as it is, as the servers do (MIN_COMPRESS_LENGTH).
const MIN_COMPRESS: usize = 50;

/// The largest window a peer may ask for: a frame never holds more than 16 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Zlib,
    /// Level 1 to 22.
    Zstd(i32),
}

/// Both directions of one compressed connection.
pub struct Codec {
    algorithm: Algorithm,
    /// The sequence id of the next frame to send.
    seq: u8,
    /// The sequence id that follows the last frame received.
    received: u8,
    inflater: Inflater,
    frame: Frame,
}

#[derive(Debug, Clone, Copy)]
enum Frame {
    Between,
    Stored { left: usize },
    Packed { left_in: usize, left_out: usize },
}

enum Inflater {
    Zlib(Box<Decompress>),
    Zstd(Box<raw::Decoder<'static>>),
}

impl Codec {
    pub fn new(algorithm: Algorithm) -> Result<Self, Malformed> {
        let inflater = match algorithm {
            Algorithm::Zlib => Inflater::Zlib(Box::new(Decompress::new(true))),
            Algorithm::Zstd(_) => {
                let mut decoder = raw::Decoder::new().map_err(|_| Malformed("zstd decoder"))?;
                let window = raw::DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX);
                decoder.set_parameter(window).map_err(|_| Malformed("zstd decoder"))?;
                Inflater::Zstd(Box::new(decoder))
            }
        };
        Ok(Self { algorithm, seq: 0, received: 0, inflater, frame: Frame::Between })
    }

    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Begins a command: the next frame sent carries sequence id 0.
    pub fn restart(&mut self) {
        self.seq = 0;
    }

    /// Goes on behind the last frame received: the next frame sent answers it. Frames that a peer sends ahead do not
    /// disturb an answer under way, because only this takes their number over.
    pub fn follow(&mut self) {
        self.seq = self.received;
    }

    /// Decodes from the front of `input` into `out`: bytes consumed, bytes produced. Nothing of either means
    /// that more input is needed (or that `out` is empty).
    pub fn decode(&mut self, input: &[u8], out: &mut [u8]) -> Result<(usize, usize), Malformed> {
        let (mut read, mut written) = (0, 0);
        loop {
            let (rest, room) = (&input[read..], &mut out[written..]);
            match self.frame {
                Frame::Between => {
                    let Some(head) = rest.first_chunk::<FRAME_HEADER>() else { return Ok((read, written)) };
                    self.begin_frame(head)?;
                    read += FRAME_HEADER;
                }
                Frame::Stored { left: 0 } => self.frame = Frame::Between,
                Frame::Stored { left } => {
                    let n = left.min(rest.len()).min(room.len());
                    if n == 0 {
                        return Ok((read, written));
                    }
                    room[..n].copy_from_slice(&rest[..n]);
                    (read, written) = (read + n, written + n);
                    self.frame = Frame::Stored { left: left - n };
                }
                Frame::Packed { left_in: 0, left_out: 0 } => self.frame = Frame::Between,
                Frame::Packed { left_in, left_out } => {
                    let source = &rest[..rest.len().min(left_in)];
                    let target_len = room.len().min(left_out);
                    let (n, m) = if left_out == 0 {
                        self.finish_frame(source)?
                    } else {
                        self.inflater.run(source, &mut room[..target_len])?
                    };
                    (read, written) = (read + n, written + m);
                    self.frame = Frame::Packed { left_in: left_in - n, left_out: left_out - m };
                    if (n, m) == (0, 0) {
                        // With input and room at hand, or with all of the input taken, a sound frame moves on; one
                        // that does not ended before its declared lengths.
                        let ended = left_in == 0 || !source.is_empty();
                        if ended && (target_len > 0 || left_out == 0) {
                            return Err(Malformed("compressed frame: not as long as declared"));
                        }
                        return Ok((read, written));
                    }
                }
            }
        }
    }

    fn begin_frame(&mut self, head: &[u8; FRAME_HEADER]) -> Result<(), Malformed> {
        let len = |at: usize| {
            usize::from(head[at]) | usize::from(head[at + 1]) << 8 | usize::from(head[at + 2]) << 16
        };
        let (packed, seq, plain) = (len(0), head[3], len(4));
        self.received = seq.wrapping_add(1);
        self.frame = if plain == 0 {
            Frame::Stored { left: packed }
        } else {
            self.inflater.reset()?;
            Frame::Packed { left_in: packed, left_out: plain }
        };
        Ok(())
    }

    /// All declared bytes are out; what is left of the frame may only be the algorithm's trailer.
    fn finish_frame(&mut self, source: &[u8]) -> Result<(usize, usize), Malformed> {
        let (n, m) = self.inflater.run(source, &mut [0; 1])?;
        if m > 0 {
            return Err(Malformed("compressed frame: longer than declared"));
        }
        Ok((n, 0))
    }

    /// Appends `payload` as frames.
    pub fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        for chunk in payload.chunks(MAX_PAYLOAD) {
            let at = out.len();
            out.extend_from_slice(&[0; FRAME_HEADER]);
            let packed = chunk.len() >= MIN_COMPRESS && self.pack(chunk, out)?;
            let plain_len = if packed && out.len() - at - FRAME_HEADER < chunk.len() {
                chunk.len()
            } else {
                out.truncate(at + FRAME_HEADER);
                out.extend_from_slice(chunk);
                0
            };
            let len = out.len() - at - FRAME_HEADER;
            out[at..at + 3].copy_from_slice(&(len as u32).to_le_bytes()[..3]);
            out[at + 3] = self.seq;
            out[at + 4..at + 7].copy_from_slice(&(plain_len as u32).to_le_bytes()[..3]);
            self.seq = self.seq.wrapping_add(1);
        }
        Ok(())
    }

    fn pack(&self, chunk: &[u8], out: &mut Vec<u8>) -> Result<bool, Malformed> {
        match self.algorithm {
            Algorithm::Zlib => {
                // Room for incompressible input, so that one call does it: zlib's own bound.
                out.reserve(chunk.len() + chunk.len() / 1000 + 64);
                let mut deflater = Compress::new(Compression::fast(), true);
                let done = deflater.compress_vec(chunk, out, FlushCompress::Finish);
                Ok(matches!(done, Ok(Status::StreamEnd)))
            }
            Algorithm::Zstd(level) => {
                let packed = zstd::bulk::compress(chunk, level).map_err(|_| Malformed("zstd encoder"))?;
                out.extend_from_slice(&packed);
                Ok(true)
            }
        }
    }
}

impl Inflater {
    fn reset(&mut self) -> Result<(), Malformed> {
        match self {
            Self::Zlib(inflater) => inflater.reset(true),
            Self::Zstd(decoder) => decoder.reinit().map_err(|_| Malformed("compressed frame"))?,
        }
        Ok(())
    }

    fn run(&mut self, source: &[u8], target: &mut [u8]) -> Result<(usize, usize), Malformed> {
        match self {
            Self::Zlib(inflater) => {
                let (read, written) = (inflater.total_in(), inflater.total_out());
                let status = inflater.decompress(source, target, FlushDecompress::None);
                status.map_err(|_| Malformed("compressed frame"))?;
                Ok(((inflater.total_in() - read) as usize, (inflater.total_out() - written) as usize))
            }
            Self::Zstd(decoder) => {
                let status = decoder.run_on_buffers(source, target);
                let status = status.map_err(|_| Malformed("compressed frame"))?;
                Ok((status.bytes_read, status.bytes_written))
            }
        }
    }
}

impl std::fmt::Debug for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Codec").field("algorithm", &self.algorithm).field("frame", &self.frame).finish()
    }
}

#[cfg(test)]
mod tests;
