use super::*;
use proptest::prelude::*;

const BOTH: [Algorithm; 2] = [Algorithm::Zlib, Algorithm::Zstd(3)];

/// Decodes `bytes` handed over in pieces of `cut` into a target of `room` bytes at a time.
fn decode_all(algorithm: Algorithm, bytes: &[u8], cut: usize, room: usize) -> Result<Vec<u8>, Malformed> {
    let mut codec = Codec::new(algorithm)?;
    let (mut out, mut target, mut held, mut fed) = (Vec::new(), vec![0; room], Vec::new(), 0);
    loop {
        let (n, m) = codec.decode(&held, &mut target)?;
        held.drain(..n);
        out.extend_from_slice(&target[..m]);
        if (n, m) == (0, 0) {
            if fed == bytes.len() {
                return Ok(out);
            }
            let next = (fed + cut).min(bytes.len());
            held.extend_from_slice(&bytes[fed..next]);
            fed = next;
        }
    }
}

#[test]
fn p11_short_payloads_travel_as_they_are_and_share_one_sequence() {
    for algorithm in BOTH {
        let mut codec = Codec::new(algorithm).unwrap();
        let mut out = Vec::new();
        codec.encode(b"short", &mut out).unwrap();
        codec.encode(b"again", &mut out).unwrap();
        assert_eq!(out, b"\x05\0\0\0\0\0\0short\x05\0\0\x01\0\0\0again");
        // A frame that comes in moves the counter that goes out, once it is answered.
        let (n, m) = codec.decode(b"\x01\0\0\x09\0\0\0x", &mut [0; 8]).unwrap();
        assert_eq!((n, m), (8, 1));
        out.clear();
        codec.encode(b"still", &mut out).unwrap();
        assert_eq!(out[3], 2);
        codec.follow();
        out.clear();
        codec.encode(b"next", &mut out).unwrap();
        assert_eq!(out[3], 10);
    }
}

#[test]
fn p11_lengths_that_lie_are_refused() {
    for algorithm in BOTH {
        for (declared, ok) in [(1000, true), (999, false), (1001, false), (0xFF_FFFF, false), (1, false)] {
            let mut codec = Codec::new(algorithm).unwrap();
            let mut out = Vec::new();
            codec.encode(&[b'a'; 1000], &mut out).unwrap();
            assert!(out.len() < 100);
            out[4..7].copy_from_slice(&u32::to_le_bytes(declared)[..3]);
            out.extend_from_slice(b"\x01\0\0\x01\0\0\0x");
            let got = decode_all(algorithm, &out, out.len(), 4096);
            assert_eq!(got.is_ok(), ok, "{algorithm:?} {declared}");
        }
    }
}

#[test]
fn p11_a_stream_that_ends_before_its_frame_is_refused() {
    for algorithm in BOTH {
        let mut codec = Codec::new(algorithm).unwrap();
        let mut out = Vec::new();
        codec.encode(&[b'a'; 1000], &mut out).unwrap();
        // Both lengths claim more than the stream inside holds.
        out[..3].copy_from_slice(&u32::to_le_bytes(0xFF_FFFF)[..3]);
        out[4..7].copy_from_slice(&u32::to_le_bytes(0xFF_FFFF)[..3]);
        out.resize(4096, 0);
        assert!(decode_all(algorithm, &out, 100, 4096).is_err(), "{algorithm:?}");
    }
}

#[test]
fn p11_noise_is_refused() {
    for algorithm in BOTH {
        let bytes = b"\x09\0\0\0\x40\0\0notpacked";
        assert!(decode_all(algorithm, bytes, 3, 64).is_err());
    }
}

proptest! {
    #[test]
    fn p11_what_is_encoded_is_decoded_however_it_is_cut(
        chunks in prop::collection::vec(prop::collection::vec(0u8..4, 0..3000), 1..5),
        cut in 1usize..500, room in 1usize..500, zstd: bool,
    ) {
        let algorithm = BOTH[usize::from(zstd)];
        let mut codec = Codec::new(algorithm).unwrap();
        let mut bytes = Vec::new();
        chunks.iter().for_each(|chunk| codec.encode(chunk, &mut bytes).unwrap());
        prop_assert_eq!(decode_all(algorithm, &bytes, cut, room), Ok(chunks.concat()));
    }

    #[test]
    fn arbitrary_frames_never_panic(bytes: Vec<u8>, cut in 1usize..20, zstd: bool) {
        let _ = decode_all(BOTH[usize::from(zstd)], &bytes, cut, 64);
    }
}
