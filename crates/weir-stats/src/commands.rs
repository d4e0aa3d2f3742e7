use weir_wire::command;

/// One counter for each command byte from COM_SLEEP to COM_RESET_CONNECTION, one for MariaDB's
/// COM_STMT_BULK_EXECUTE, one for all others.
const SLOTS: usize = 34;

const BULK_EXECUTE: usize = SLOTS - 2;
const OTHER: usize = SLOTS - 1;

/// One value for each command.
#[derive(Debug, Clone)]
pub(crate) struct PerCommand<T>(pub(crate) [T; SLOTS]);

impl<T: Default> Default for PerCommand<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| T::default()))
    }
}

pub(crate) fn slot(command: u8) -> usize {
    match command {
        0..=command::RESET_CONNECTION => usize::from(command),
        command::STMT_BULK_EXECUTE => BULK_EXECUTE,
        _ => OTHER,
    }
}

/// The name that [`command::name`] gives; several slots are called "other".
pub(crate) fn slot_name(slot: usize) -> &'static str {
    match slot {
        BULK_EXECUTE => command::name(command::STMT_BULK_EXECUTE),
        // No server knows this byte as a command.
        OTHER => command::name(u8::MAX),
        byte => command::name(byte as u8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts_under_its_own_name() {
        for byte in 0..=u8::MAX {
            assert_eq!(slot_name(slot(byte)), command::name(byte), "{byte:#x}");
        }
    }
}
