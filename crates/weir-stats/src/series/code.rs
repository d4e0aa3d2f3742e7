//! Counts as few bytes: numbers of seven bits a byte, and only what is not zero. Files hold this, so it is read with care.

use crate::digests::Sums;
use crate::histogram::HistogramSnapshot;

/// A histogram: its sum, then each bucket that is not empty, as its distance from the one before and its count.
pub fn encode_histogram(histogram: &HistogramSnapshot) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_histogram(&mut bytes, histogram);
    bytes
}

/// `None` if the bytes are not what [`encode_histogram`] makes.
pub fn decode_histogram(mut bytes: &[u8]) -> Option<HistogramSnapshot> {
    let mut histogram = HistogramSnapshot::default();
    add_histogram(&mut histogram, &mut bytes)?;
    bytes.is_empty().then_some(histogram)
}

/// Everything but when it was seen.
pub fn encode_sums(sums: &Sums) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    sums.numbers().iter().for_each(|number| put(&mut bytes, *number));
    [&sums.total, &sums.queue, &sums.server].into_iter().for_each(|times| put_histogram(&mut bytes, times));
    let codes = sums.codes.iter().map(|(code, count)| (u64::from(*code), *count));
    put_pairs(&mut bytes, &codes.collect::<Vec<_>>());
    for reasons in sums.by_reason() {
        let met = (0..).zip(reasons.iter().copied()).filter(|(_, count)| *count > 0);
        put_pairs(&mut bytes, &met.collect::<Vec<_>>());
    }
    bytes
}

/// `None` if the bytes are not what [`encode_sums`] makes.
pub fn decode_sums(bytes: &[u8]) -> Option<Sums> {
    let mut sums = Sums::default();
    add_encoded(&mut sums, bytes)?;
    Some(sums)
}

/// Adds what [`encode_sums`] has made. If the bytes are something else it is `None`, and some of them may be added.
pub fn add_encoded(sums: &mut Sums, mut bytes: &[u8]) -> Option<()> {
    let bytes = &mut bytes;
    for number in sums.numbers_mut() {
        *number = number.wrapping_add(take(bytes)?);
    }
    for times in [&mut sums.total, &mut sums.queue, &mut sums.server] {
        add_histogram(times, bytes)?;
    }
    for _ in 0..take_count(bytes, usize::from(u16::MAX) + 1)? {
        let (code, count) = (u16::try_from(take(bytes)?).ok()?, take(bytes)?);
        let sum = sums.codes.entry(code).or_default();
        *sum = sum.wrapping_add(count);
    }
    for reasons in sums.by_reason_mut() {
        for _ in 0..take_count(bytes, reasons.len())? {
            let (reason, count) = (usize::try_from(take(bytes)?).ok()?, take(bytes)?);
            let sum = reasons.get_mut(reason)?;
            *sum = sum.wrapping_add(count);
        }
    }
    bytes.is_empty().then_some(())
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        // What does not fit would be another number.
        if part << shift >> shift != part {
            return None;
        }
        number |= part << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn put_pairs(bytes: &mut Vec<u8>, pairs: &[(u64, u64)]) {
    put(bytes, pairs.len() as u64);
    pairs.iter().for_each(|(key, value)| {
        put(bytes, *key);
        put(bytes, *value);
    });
}

fn take_count(bytes: &mut &[u8], most: usize) -> Option<usize> {
    usize::try_from(take(bytes)?).ok().filter(|count| *count <= most)
}

fn put_histogram(bytes: &mut Vec<u8>, histogram: &HistogramSnapshot) {
    put(bytes, histogram.sum_ns());
    put(bytes, histogram.filled().count() as u64);
    let mut next = 0;
    for (bucket, count) in histogram.filled() {
        put(bytes, (bucket - next) as u64);
        put(bytes, count);
        next = bucket + 1;
    }
}

fn add_histogram(histogram: &mut HistogramSnapshot, bytes: &mut &[u8]) -> Option<()> {
    histogram.add_sum(take(bytes)?);
    let mut next = 0usize;
    for _ in 0..take_count(bytes, HistogramSnapshot::BUCKETS)? {
        let (gap, count) = (take(bytes)?, take(bytes)?);
        let bucket = usize::try_from(gap).ok()?.checked_add(next)?;
        if bucket >= HistogramSnapshot::BUCKETS {
            return None;
        }
        histogram.add_bucket(bucket, count);
        next = bucket + 1;
    }
    Some(())
}
