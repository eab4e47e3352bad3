//! Callbacks of the program while its connection is freed.

use core::cell::Cell;

use super::*;

thread_local! {
    /// The connection that the store's callback uses, and what its calls have returned.
    static FREED: Cell<*mut TerseConnection> = const { Cell::new(null_mut()) };
    static ANSWERS: Cell<Option<[i32; 3]>> = const { Cell::new(None) };
}

/// Uses, and frees, the connection that is being freed.
unsafe extern "C" fn load_and_call_back(
    context: *mut c_void,
    key: *const u8,
    key_len: usize,
    value: *mut u8,
    capacity: usize,
    len: *mut usize,
) -> i32 {
    let freed = FREED.get();
    // SAFETY: the library calls this before the connection is gone.
    if let Some(connection) = unsafe { freed.as_ref() } {
        let close = terse_close(Some(connection));
        let mut summary = TerseSummary::default();
        // SAFETY: the summary has this size, and the connection is not gone.
        let inspected = unsafe { terse_connection_summary(Some(connection), &mut summary, size_of::<TerseSummary>()) };
        // SAFETY: as above.
        unsafe { terse_connection_free(freed) };
        ANSWERS.set(Some([close, inspected, terse_handle_timeout(Some(connection), Some(&NOW))]));
    }
    // SAFETY: the arguments are those of the library.
    unsafe { load(context, key, key_len, value, capacity, len) }
}

/// A connection that holds a ticket gives it back when it is freed, for which it asks the store.
#[test]
fn a_callback_while_a_connection_is_freed_is_told_that_it_is_busy() {
    let pki = Pki::new();
    let mut store = Store::default();
    let callbacks = TerseStoreCallbacks { load: Some(load_and_call_back), ..callbacks(&mut store, 0) };
    let broker = broker(&pki, TERSE_USE_CACHE);
    let device = device_for(1, &pki, Some(&callbacks), TERSE_USE_CACHE);
    assert_eq!(connect(&device, &broker).mode, TerseMode::Full);
    let first = Pair::at_port(8883, &device, &broker);
    let other = Pair::at_port(8884, &device, &broker); // the memory now has this server alone
    assert_eq!(other.run(), [TERSE_OK; 2]);
    FREED.set(first.0[0]);
    drop(first);
    FREED.set(null_mut());
    let busy = TerseError::Busy as i32;
    assert_eq!(ANSWERS.get(), Some([busy; 3]), "the store was asked, and each call refused");
}
