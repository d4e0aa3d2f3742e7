//! PEM (RFC 7468), as far as RSA keys on the wire need it: one block, base64, no headers.

use zeroize::Zeroizing;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Longest text read, in bytes. A private key of 8192 bits takes about 6.4 kB.
const MAX_TEXT: usize = 16 * 1024;

/// One block with lines of 64 characters, ended by a newline.
pub(super) fn encode(der: &[u8], label: &str) -> Vec<u8> {
    let mut text = format!("-----BEGIN {label}-----\n").into_bytes();
    // 48 bytes make a line of 64 characters.
    for line in der.chunks(48) {
        for group in line.chunks(3) {
            encode_group(group, &mut text);
        }
        text.push(b'\n');
    }
    text.extend_from_slice(format!("-----END {label}-----\n").as_bytes());
    text
}

/// The content of the first block with this label; `None` if there is none or it is not base64.
pub(super) fn decode(text: &[u8], label: &str) -> Option<Zeroizing<Vec<u8>>> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let begin = format!("-----BEGIN {label}-----");
    let end = format!("-----END {label}-----");
    let body = text.get(find(text, begin.as_bytes())? + begin.len()..)?;
    let body = body.get(..find(body, end.as_bytes())?)?;

    let mut der = Zeroizing::new(Vec::with_capacity(body.len()));
    let (mut bits, mut held, mut padding) = (0_u32, 0_u32, 0_u32);
    for byte in body.iter().filter(|byte| !byte.is_ascii_whitespace()) {
        if *byte == b'=' {
            padding += 1;
            continue;
        }
        let value = value_of(*byte).filter(|_| padding == 0)?;
        bits = (bits << 6 | value) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            der.push((bits >> held) as u8);
        }
    }
    // What is left over are the bits that padding stands for: 0, 2 or 4 bits with 0, 1 or 2 signs of it.
    (held == padding * 2 && padding < 3).then_some(der)
}

fn encode_group(group: &[u8], text: &mut Vec<u8>) {
    let bits =
        group.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - group.len()));
    for position in 0..4 {
        let index = bits >> (18 - 6 * position) & 63;
        text.push(match ALPHABET.get(index) {
            Some(letter) if position <= group.len() => *letter,
            _ => b'=',
        });
    }
}

fn value_of(letter: u8) -> Option<u32> {
    ALPHABET.iter().position(|known| *known == letter).and_then(|index| u32::try_from(index).ok())
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}
