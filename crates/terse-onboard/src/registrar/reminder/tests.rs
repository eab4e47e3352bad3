use core::time::Duration;

use super::*;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

#[test]
fn a_reminder_is_due_at_first_and_once_a_day() {
    let mut reminder = Reminder::default();
    let due = [1_000, 1_060, 87_399, 87_400, 87_460, 500, 560].map(|now| reminder.is_due(at(now)));
    assert_eq!(due, [true, false, false, true, false, true, false]);
}

#[test]
fn a_reminder_names_the_first_devices() {
    let named = |count: usize| (0..count).map(|number| format!("WI-{number}")).collect::<Vec<_>>();
    assert_eq!(
        text(1, &named(1)),
        "1 LDevID ends within 7 days and was not renewed: WI-0; see `terse registrar ending`"
    );
    assert_eq!(
        text(30, &named(2)),
        "30 LDevIDs end within 7 days and were not renewed: WI-0, WI-1, ...; see `terse registrar ending`"
    );
}
