//! Counts as few bytes: numbers of seven bits a byte, and only what is not zero. Files hold this, so it is read with care.

use std::collections::BTreeMap;

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
    let histogram = take_histogram(&mut bytes)?;
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
pub fn decode_sums(mut bytes: &[u8]) -> Option<Sums> {
    let bytes = &mut bytes;
    let mut sums = Sums::default();
    for number in sums.numbers_mut() {
        *number = take(bytes)?;
    }
    for times in [&mut sums.total, &mut sums.queue, &mut sums.server] {
        *times = take_histogram(bytes)?;
    }
    let codes = take_pairs(bytes, usize::from(u16::MAX) + 1)?;
    sums.codes = codes
        .into_iter()
        .map(|(code, n)| Some((u16::try_from(code).ok()?, n)))
        .collect::<Option<BTreeMap<_, _>>>()?;
    for reasons in sums.by_reason_mut() {
        for (reason, count) in take_pairs(bytes, reasons.len())? {
            *reasons.get_mut(usize::try_from(reason).ok()?)? = count;
        }
    }
    bytes.is_empty().then_some(sums)
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

fn take_pairs(bytes: &mut &[u8], most: usize) -> Option<Vec<(u64, u64)>> {
    let count = take(bytes)?;
    if count > most as u64 {
        return None;
    }
    (0..count).map(|_| Some((take(bytes)?, take(bytes)?))).collect()
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

fn take_histogram(bytes: &mut &[u8]) -> Option<HistogramSnapshot> {
    let mut histogram = HistogramSnapshot::default();
    histogram.add_sum(take(bytes)?);
    let mut next = 0usize;
    for (gap, count) in take_pairs(bytes, HistogramSnapshot::BUCKETS)? {
        let bucket = usize::try_from(gap).ok()?.checked_add(next)?;
        if bucket >= HistogramSnapshot::BUCKETS {
            return None;
        }
        histogram.add_bucket(bucket, count);
        next = bucket + 1;
    }
    Some(histogram)
}
