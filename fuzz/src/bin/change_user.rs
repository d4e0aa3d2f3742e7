//! COM_CHANGE_USER under any flags. Input: flags (8 bytes), then what follows the command byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::Input;
use weir_wire::caps;
use weir_wire::login::ChangeUser;

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let flags = input.u64();
    let Ok(change) = ChangeUser::parse(input.rest(), flags) else { return };
    // Weir itself writes whole packets of clients that are not older than MySQL 4.1.
    if flags & caps::SECURE_CONNECTION == 0 {
        return;
    }
    let written = change.to_payload(flags);
    let again = ChangeUser::parse(&written[1..], flags).expect("what was written can be read");
    assert_eq!(again.user, change.user);
    assert_eq!(again.auth_response, change.auth_response);
    assert_eq!(again.database, change.database);
    assert_eq!(again.charset, change.charset);
    assert_eq!(again.plugin.unwrap_or_default(), change.plugin.unwrap_or_default());
    assert_eq!(again.attributes.unwrap_or_default(), change.attributes.unwrap_or_default());
});
