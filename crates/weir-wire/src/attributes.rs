//! Query attributes: what stands in front of the statement where CLIENT_QUERY_ATTRIBUTES is agreed.

use crate::Malformed;
use crate::caps::{self, Caps};
use crate::lenenc::Reader;

/// The offset of the statement's text in a COM_QUERY payload (command byte included).
///
/// Trap P8: with CLIENT_QUERY_ATTRIBUTES, parameters with free text stand ahead of it. Fails where the payload
/// ends before the text begins.
pub fn statement_offset(payload: &[u8], flags: Caps) -> Result<usize, Malformed> {
    if flags & caps::QUERY_ATTRIBUTES == 0 {
        return Ok(1.min(payload.len()));
    }
    let mut r = Reader::new(payload, "query attributes");
    r.u8()?;
    let count = r.lenenc()?;
    r.lenenc()?;
    if count > 0 {
        let count = usize::try_from(count).map_err(|_| Malformed("query attributes"))?;
        skip_values(&mut r, count)?;
    }
    Ok(payload.len() - r.remaining())
}

fn skip_values(r: &mut Reader<'_>, count: usize) -> Result<(), Malformed> {
    let nulls = r.take(count.div_ceil(8))?;
    if r.u8()? != 1 {
        return Err(Malformed("query attributes: types are not bound"));
    }
    // Types and names first, then the values; a walk of its own finds where the values begin.
    let mut types = *r;
    for _ in 0..count {
        r.u16()?;
        r.lenenc_bytes()?;
    }
    for i in 0..count {
        let kind = types.u16()? as u8;
        types.lenenc_bytes()?;
        let null = nulls.get(i / 8).is_some_and(|b| b >> (i % 8) & 1 == 1);
        if !null {
            skip_value(r, kind)?;
        }
    }
    Ok(())
}

/// Skips one value in binary form; type codes as in `enum_field_types`.
fn skip_value(r: &mut Reader<'_>, kind: u8) -> Result<(), Malformed> {
    match kind {
        0x06 => {}
        0x01 => drop(r.take(1)?),
        0x02 | 0x0D => drop(r.take(2)?),
        0x03 | 0x04 | 0x09 => drop(r.take(4)?),
        0x05 | 0x08 => drop(r.take(8)?),
        0x07 | 0x0A | 0x0B | 0x0C => {
            let n = r.u8()?;
            r.take(usize::from(n))?;
        }
        _ => drop(r.lenenc_bytes()?),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lenenc::put_lenenc_bytes;
    use proptest::prelude::*;

    #[test]
    fn p8_text_hidden_in_attributes_is_not_the_statement() {
        let mut payload = b"\x03\x02\x01\x02\x01".to_vec();
        for (kind, name) in [(0xFEu16, "evil"), (0x08, "null")] {
            payload.extend_from_slice(&kind.to_le_bytes());
            put_lenenc_bytes(&mut payload, name.as_bytes());
        }
        put_lenenc_bytes(&mut payload, b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t");
        payload.extend_from_slice(b"SELECT 1");
        let at = statement_offset(&payload, caps::QUERY_ATTRIBUTES).unwrap();
        assert_eq!(&payload[at..], b"SELECT 1");
        assert_eq!(statement_offset(b"\x03\x00\x01SELECT 2", caps::QUERY_ATTRIBUTES), Ok(3));
        assert_eq!(statement_offset(b"\x03SELECT 2", 0), Ok(1));
    }

    proptest! {
        #[test]
        fn offsets_stay_inside(payload: Vec<u8>) {
            if let Ok(at) = statement_offset(&payload, caps::QUERY_ATTRIBUTES) {
                prop_assert!(at <= payload.len());
            }
        }
    }
}
