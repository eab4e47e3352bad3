//! yang:date-and-time (RFC 6991, 3), which is the date-time of RFC 3339, 5.6.
//!
//! What must always hold: a text that is no date-time is refused, and never taken for another time; what [`format`] writes,
//! [`parse`] reads as the same second.

use alloc::string::String;
use core::time::Duration;

use der::DateTime;
use pki_types::UnixTime;

/// Reads a date and time, with any offset; a fraction of a second is dropped.
///
/// `t` and `z` may be in lower case (RFC 3339, 5.6). A leap second is the last second of a day in UTC, and is taken for the
/// first one of the next day, as Unix time does. Times before 1970 are refused: [`UnixTime`] has none.
pub fn parse(text: &str) -> Option<UnixTime> {
    let mut text = Scanner { rest: text.as_bytes() };
    let year = text.digits(4)?;
    text.one_of(b"-")?;
    let month = text.digits(2)?;
    text.one_of(b"-")?;
    let day = text.digits(2)?;
    text.one_of(b"Tt")?;
    let hour = text.digits(2)?;
    text.one_of(b":")?;
    let minute = text.digits(2)?;
    text.one_of(b":")?;
    let second = text.digits(2)?;
    text.skip_fraction()?;
    let sign = text.one_of(b"Zz+-")?;
    let offset = match sign {
        b'+' | b'-' => text.offset()?,
        _ => 0,
    };
    if !text.rest.is_empty() {
        return None;
    }

    let leap = second == 60;
    let second = if leap { 59 } else { second };
    let [month, day, hour, minute, second] = [month, day, hour, minute, second].map(|value| value as u8); // two digits
    let local = DateTime::new(year, month, day, hour, minute, second).ok()?.unix_duration().as_secs() + u64::from(leap);
    // East of Greenwich it is later than in UTC.
    let utc = if sign == b'-' { local.checked_add(offset)? } else { local.checked_sub(offset)? };
    if leap && !utc.is_multiple_of(86_400) {
        return None;
    }
    Some(UnixTime::since_unix_epoch(Duration::from_secs(utc)))
}

/// Writes a date and time in UTC: `2026-11-25T14:08:06Z`. What is after the year 9999 is written as its last second, since
/// a year has four digits.
pub fn format(time: UnixTime) -> String {
    let time = DateTime::from_unix_duration(Duration::from_secs(time.as_secs())).unwrap_or(DateTime::INFINITY);
    let mut text = String::with_capacity(20);
    let mut push = |value: u16, unit: u16, end: char| {
        let mut unit = unit;
        while unit > 0 {
            text.push(char::from(b'0' + (value / unit % 10) as u8)); // below 10
            unit /= 10;
        }
        text.push(end);
    };
    push(time.year(), 1000, '-');
    push(time.month().into(), 10, '-');
    push(time.day().into(), 10, 'T');
    push(time.hour().into(), 10, ':');
    push(time.minutes().into(), 10, ':');
    push(time.seconds().into(), 10, 'Z');
    text
}

/// Takes a text apart, from its beginning.
struct Scanner<'a> {
    rest: &'a [u8],
}

impl Scanner<'_> {
    /// Takes a number of exactly `count` digits, at most four.
    fn digits(&mut self, count: usize) -> Option<u16> {
        let (digits, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        digits.iter().try_fold(0, |value, digit| {
            digit.is_ascii_digit().then(|| value * 10 + u16::from(digit - b'0')) // at most 9999
        })
    }

    /// Takes one of these characters.
    fn one_of(&mut self, expected: &[u8]) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        expected.contains(first).then_some(*first)
    }

    /// Takes a point and the digits after it, if there is a point. There is at least one digit then.
    fn skip_fraction(&mut self) -> Option<()> {
        let Some(fraction) = self.rest.strip_prefix(b".") else {
            return Some(());
        };
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.rest = fraction.get(digits..)?;
        (digits > 0).then_some(())
    }

    /// Takes hours and minutes after a sign, and returns them in seconds.
    fn offset(&mut self) -> Option<u64> {
        let hours = self.digits(2)?;
        self.one_of(b":")?;
        let minutes = self.digits(2)?;
        (hours < 24 && minutes < 60).then(|| u64::from(hours) * 3600 + u64::from(minutes) * 60)
    }
}

#[cfg(test)]
mod tests;
