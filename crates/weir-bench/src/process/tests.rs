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

#[test]
fn both_kinds_of_cpu_time_are_told_apart() {
    let pid = std::process::id();
    let (before, busy) = (cpu_split(pid).unwrap(), machine_busy().unwrap());
    let mut used = Cpu::default();
    while used.user < TICK * 3 || used.sys < TICK * 3 {
        // A call of the kernel that does something, and then work that needs no kernel.
        for _ in 0..1_000 {
            std::hint::black_box(fs::metadata("/proc/self/status").is_ok());
        }
        std::hint::black_box((0..300_000u64).fold(1, |x: u64, n| x.wrapping_mul(31).wrapping_add(n)));
        used = cpu_split(pid).unwrap().since(before);
    }
    assert_eq!(used.total(), used.user + used.sys);
    assert!(machine_busy().unwrap() > busy);
}
