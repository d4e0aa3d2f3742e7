use std::fs;

/// What the kernel says about this process (proc(5)); nothing for what it does not say.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pub resident_bytes: Option<u64>,
    pub open_fds: Option<u64>,
    pub max_fds: Option<u64>,
    pub threads: Option<u64>,
    pub cpu_seconds: Option<f64>,
}

/// Ticks per second in `/proc/self/stat`: USER_HZ, which is 100 on every architecture of Linux we build for.
const USER_HZ: f64 = 100.0;

/// Reads files under `/proc/self`; may take milliseconds when thousands of descriptors are open.
pub(crate) fn usage() -> Usage {
    let read = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
    let status = read("status");
    Usage {
        resident_bytes: field(&status, "VmRSS:").map(|kb| kb * 1024),
        threads: field(&status, "Threads:"),
        max_fds: field(&read("limits"), "Max open files"),
        open_fds: open_fds(),
        cpu_seconds: cpu_seconds(&read("stat")),
    }
}

/// The first number behind `key` at the beginning of a line.
fn field(text: &str, key: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn open_fds() -> Option<u64> {
    // The listing holds one descriptor itself while we count.
    let listed = fs::read_dir("/proc/self/fd").ok()?.count() as u64;
    Some(listed.saturating_sub(1))
}

/// Fields 14 (utime) and 15 (stime); counted behind the command name, which may hold blanks and brackets.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / USER_HZ)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_all_of_it() {
        let before = usage();
        let held: Vec<_> = (0..5).map(|_| fs::File::open("/dev/null").unwrap()).collect();
        let after = usage();
        assert!(before.resident_bytes.unwrap() > 100_000);
        assert!(before.threads.unwrap() >= 1);
        assert!(after.open_fds.unwrap() >= held.len() as u64);
        assert!(after.max_fds.unwrap() >= after.open_fds.unwrap());
        assert!(after.cpu_seconds.unwrap() >= before.cpu_seconds.unwrap());
    }

    #[test]
    fn a_command_name_with_brackets_is_skipped() {
        let stat = "1 (a) b (c)) S 2 3 4 5 6 7 8 9 10 11 150 50 0 0";
        assert_eq!(cpu_seconds(stat), Some(2.0));
        assert_eq!(cpu_seconds("1 (x"), None);
    }
}
