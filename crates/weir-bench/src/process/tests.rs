use super::*;

#[test]
fn cpu_time_of_this_process_grows_with_work() {
    let pid = std::process::id();
    let before = cpu_time(pid).unwrap();
    let mut x = 1u64;
    while cpu_time(pid).unwrap() < before + Duration::from_millis(5) {
        for _ in 0..100_000 {
            x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005));
        }
    }
    assert!(resident(pid).unwrap() > 100 * 1024);
}

#[test]
fn peak_sees_memory_that_is_gone_again() {
    let pid = std::process::id();
    reset_peak(pid).unwrap();
    let before = resident_peak(pid).unwrap();
    let block = std::hint::black_box(vec![1u8; 64 << 20]);
    drop(block);
    assert!(resident_peak(pid).unwrap() > before + (60 << 20));
}
