//! Compressed frames from a peer: output stays within the target and within what the frames declare, and does
//! not depend on how the input is cut; what Weir encodes, it decodes.
//! Input: algorithm, seed of the cuts (4 bytes), then the stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::{Cuts, Input};
use weir_wire::Malformed;
use weir_wire::compress::{Algorithm, Codec};

/// Where the target stops decoding, and returns nothing: enough to see that a bomb is handed out in bounded pieces.
const OUTPUT_MAX: usize = 256 * 1024;

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let algorithm = if input.byte() & 1 == 0 { Algorithm::Zlib } else { Algorithm::Zstd(1) };
    let mut cuts = input.cuts();
    let room = cuts.next_len();
    let stream = input.rest();
    let whole = decode(algorithm, stream, None, room);
    let cut = decode(algorithm, stream, Some(cuts.clone()), room);
    match (whole, cut) {
        (Ok(Some(whole)), Ok(Some(cut))) => assert!(whole == cut, "the output depends on the cuts"),
        // A bomb: how far past the limit its last piece reached may differ, and so what was seen there.
        (Ok(None), _) | (_, Ok(None)) => {}
        (whole, cut) => assert_eq!(whole.is_err(), cut.is_err(), "the verdict depends on the cuts"),
    }

    let mut codec = Codec::new(algorithm).expect("a codec");
    let mut frames = Vec::new();
    codec.encode(stream, &mut frames).expect("encoding");
    let decoded = decode(algorithm, &frames, Some(cuts), room).expect("our own frames");
    assert!(decoded.as_deref().is_none_or(|bytes| bytes == stream));
});

fn decode(
    algorithm: Algorithm,
    stream: &[u8],
    mut cuts: Option<Cuts>,
    room: usize,
) -> Result<Option<Vec<u8>>, Malformed> {
    let mut codec = Codec::new(algorithm)?;
    let (mut out, mut at, mut fed) = (Vec::new(), 0, 0);
    let mut target = vec![0; room];
    loop {
        let (n, m) = codec.decode(&stream[at..fed], &mut target)?;
        assert!(n <= fed - at && m <= room);
        at += n;
        out.extend_from_slice(&target[..m]);
        if out.len() >= OUTPUT_MAX {
            return Ok(None);
        }
        if (n, m) == (0, 0) {
            if fed == stream.len() {
                return Ok(Some(out));
            }
            fed = cuts.as_mut().map_or(stream.len(), |c| (fed + c.next_len()).min(stream.len()));
        }
    }
}
