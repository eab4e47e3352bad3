use super::*;
use crate::rate::MAX_CLIENTS;

fn device(number: u32) -> Sha256 {
    let mut device = [1; 32];
    device[..4].copy_from_slice(&number.to_be_bytes());
    device
}

fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// 456 messages in 5 s were as many lines of the log and transactions.
#[test]
fn a_flood_of_one_device_is_few_messages_and_stops_no_other() {
    let limit = StatusLimit::default();
    let admitted = (0..456).filter(|nth| limit.admit(&device(1), at(nth * 5_000 / 456)).is_ok()).count();
    assert_eq!(admitted, AT_ONCE as usize);
    assert_eq!(limit.admit(&device(1), at(5_000)), Err(5));
    assert_eq!(limit.admit(&device(1), at(10_000)), Ok(()));
    assert_eq!(limit.admit(&device(2), at(5_000)), Ok(()));
}

/// As many devices as there are places report their voucher and their enrolment while one floods.
#[test]
fn devices_that_report_twice_are_never_refused() {
    let limit = StatusLimit::default();
    for number in 1..MAX_CLIENTS as u32 {
        let _ = limit.admit(&device(0), at(number.into()));
        assert_eq!(limit.admit(&device(number), at(number.into())), Ok(()));
        assert_eq!(limit.admit(&device(number), at(number.into())), Ok(()));
    }
}
