//! Reading and writing the protocol's basic types.

use anyhow::{Context, Result, bail};

/// Takes fields off the front of a payload.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// # Errors
    /// When fewer than `n` bytes are left.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let Some((head, tail)) = self.0.split_at_checked(n) else {
            bail!("{n} bytes wanted, {} left", self.0.len());
        };
        self.0 = tail;
        Ok(head)
    }

    /// A little-endian integer of `n` bytes, at most 8.
    ///
    /// # Errors
    /// When fewer bytes are left.
    pub fn int(&mut self, n: usize) -> Result<u64> {
        let bytes = self.take(n)?;
        Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// # Errors
    /// When no byte is left.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// # Errors
    /// When fewer than two bytes are left.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(self.int(2)? as u16)
    }

    /// # Errors
    /// When fewer than four bytes are left.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(self.int(4)? as u32)
    }

    /// A length-encoded integer; None is the NULL of text rows (0xFB).
    ///
    /// # Errors
    /// When bytes are missing or the first is 0xFF.
    pub fn lenenc_or_null(&mut self) -> Result<Option<u64>> {
        Ok(Some(match self.u8()? {
            0xfb => return Ok(None),
            0xfc => self.int(2)?,
            0xfd => self.int(3)?,
            0xfe => self.int(8)?,
            0xff => bail!("0xFF is no length"),
            small => u64::from(small),
        }))
    }

    /// # Errors
    /// As [`Fields::lenenc_or_null`], and for NULL.
    pub fn lenenc(&mut self) -> Result<u64> {
        self.lenenc_or_null()?.context("NULL where a length was due")
    }

    /// # Errors
    /// When bytes are missing.
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.lenenc()?;
        self.take(usize::try_from(length)?)
    }

    /// # Errors
    /// When there is no NUL.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0).context("no NUL")?;
        let value = self.take(end)?;
        self.take(1)?;
        Ok(value)
    }

    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// The values of a row of the text protocol.
///
/// # Errors
/// When the row is malformed.
pub fn text_row(row: &[u8]) -> Result<Vec<Option<Vec<u8>>>> {
    let mut fields = Fields(row);
    let mut values = Vec::new();
    while !fields.is_empty() {
        values.push(match fields.lenenc_or_null()? {
            Some(length) => Some(fields.take(usize::try_from(length)?)?.to_vec()),
            None => None,
        });
    }
    Ok(values)
}

/// Appends a length-encoded integer.
pub fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a length-encoded string.
pub fn put_lenenc_bytes(out: &mut Vec<u8>, value: &[u8]) {
    put_lenenc(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Appends a string and its NUL.
pub fn put_nul(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(value);
    out.push(0);
}
